<?php

/**
 * The journal of changes, which the sidecar numbers.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

const SHOWN_CHANGES = 100;

/**
 * Returns the changes of the last day, the newest first.
 *
 * @param int $before Only those with a lower number; 0 for the newest.
 */
function list_changes(int $before = 0, int $limit = SHOWN_CHANGES): array
{
    global $wpdb;
    if (!has_table(own_table('changes'))) {
        return [];
    }
    // Numbers grow with time, and only they have an index.
    $changes = $wpdb->get_results($wpdb->prepare(
        'SELECT number, resource, resource_id, kind, origin, actor_id, at, old_status, new_status FROM ' . own_table('changes')
        . ' WHERE number < %d ORDER BY number DESC LIMIT %d',
        $before > 0 ? $before : PHP_INT_MAX,
        $limit
    ));
    $yesterday = utc_now(-DAY_IN_SECONDS);
    return array_values(array_filter($changes, function ($change) use ($yesterday) {
        return $change->at >= $yesterday;
    }));
}

/** Returns who made each change, by its number: the name of a key or of a user. */
function change_authors(array $changes): array
{
    $users = $keys = [];
    foreach ($changes as $change) {
        if ($change->origin === 'site' && $change->actor_id) {
            $users[] = (int) $change->actor_id;
        }
    }
    $names = [];
    if ($users) {
        foreach (get_users(['include' => array_unique($users), 'fields' => ['ID', 'display_name']]) as $user) {
            $names[(int) $user->ID] = $user->display_name;
        }
    }
    foreach (array_filter($changes, fn($change) => $change->origin === 'api') ? list_keys() : [] as $key) {
        $keys[(int) $key->id] = $key->name;
    }
    $authors = [];
    foreach ($changes as $change) {
        $authors[(int) $change->number] = change_author($change, $names, $keys);
    }
    return $authors;
}

function change_author(object $change, array $users, array $keys): string
{
    $actor = (int) $change->actor_id;
    if ($change->origin === 'api') {
        /* translators: %s: the name or number of an API key. */
        return sprintf(__('API key %s', 'bookside'), $keys[$actor] ?? $actor);
    }
    if ($change->origin === 'site') {
        /* translators: %d: the number of a user. */
        return $actor ? ($users[$actor] ?? sprintf(__('user %d', 'bookside'), $actor)) : __('a visitor or the site itself', 'bookside');
    }
    return __('unknown: found by comparing', 'bookside');
}

/** Returns what happened, for people. */
function change_text(object $change): string
{
    $kinds = ['created' => __('created', 'bookside'), 'updated' => __('changed', 'bookside'), 'deleted' => __('deleted', 'bookside')];
    $text = $kinds[$change->kind] ?? $change->kind;
    if ($change->new_status !== null && $change->new_status !== '' && $change->old_status !== $change->new_status) {
        $text .= ': ' . ($change->old_status ? $change->old_status . ' → ' : '') . $change->new_status;
    }
    return $text;
}

/** Returns the page of LatePoint that shows a record; '' if there is none. */
function record_url(string $resource, int $id): string
{
    $routes = [
        'bookings' => ['bookings__index', ['filter' => ['id' => $id]]],
        'customers' => ['customers__index', ['filter' => ['id' => $id]]],
        'orders' => ['orders__index', ['filter' => ['id' => $id]]],
        'payments' => ['transactions__index', ['filter' => ['id' => $id]]],
        'services' => ['services__edit_form', ['id' => $id]],
    ];
    // Pages of an add-on.
    foreach (['agents' => 'OsAgentsController', 'locations' => 'OsLocationsController'] as $of => $controller) {
        if (class_exists($controller)) {
            $routes[$of] = [$of . '__edit_form', ['id' => $id]];
        }
    }
    if (!isset($routes[$resource])) {
        return '';
    }
    return add_query_arg(array_merge(['page' => 'latepoint', 'route_name' => $routes[$resource][0]], $routes[$resource][1]), admin_url('admin.php'));
}
