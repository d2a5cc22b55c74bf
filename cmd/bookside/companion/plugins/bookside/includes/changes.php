<?php

/**
 * The journal of changes, which the server keeps.
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
 * @return array[]|\WP_Error
 */
function list_changes(int $before = 0)
{
    $answer = ask_server('/changes' . ($before > 0 ? '?before=' . $before : ''));
    if (is_wp_error($answer)) {
        return $answer;
    }
    $yesterday = utc_now(-DAY_IN_SECONDS);
    return array_values(array_filter($answer['changes'] ?? [], fn($change) => $change['at'] >= $yesterday));
}

/** Returns who made each change, by its number: the name of a key or of a user. */
function change_authors(array $changes): array
{
    $users = array_unique(array_column(array_filter($changes, fn($change) => $change['origin'] === 'site' && $change['actor_id'] > 0), 'actor_id'));
    $names = $users ? array_column(get_users(['include' => $users, 'fields' => ['ID', 'display_name']]), 'display_name', 'ID') : [];
    $authors = [];
    foreach ($changes as $change) {
        $authors[$change['number']] = change_author($change, $names);
    }
    return $authors;
}

function change_author(array $change, array $users): string
{
    $actor = $change['actor_id'];
    if ($change['origin'] === 'api') {
        /* translators: %s: the name or number of an API key. */
        return sprintf(__('API key %s', 'bookside'), $change['key'] !== '' ? $change['key'] : $actor);
    }
    if ($change['origin'] === 'site') {
        /* translators: %d: the number of a user. */
        return $actor ? ($users[$actor] ?? sprintf(__('user %d', 'bookside'), $actor)) : __('a visitor or the site itself', 'bookside');
    }
    if ($change['origin'] === 'console') {
        /* translators: %s: the name of an administrator. */
        return ($change['person'] ?? '') !== '' ? sprintf(__('%s, on the console', 'bookside'), $change['person']) : __('an administrator, on the console', 'bookside');
    }
    return __('unknown: found by comparing', 'bookside');
}

/** Returns what happened, for people. */
function change_text(array $change): string
{
    $kinds = ['created' => __('created', 'bookside'), 'updated' => __('changed', 'bookside'), 'deleted' => __('deleted', 'bookside')];
    $text = $kinds[$change['kind']] ?? $change['kind'];
    $status = fn($status) => said(str_replace('_', ' ', $status));
    if ($change['new_status'] !== '' && $change['old_status'] !== $change['new_status']) {
        $text .= ': ' . ($change['old_status'] !== '' ? $status($change['old_status']) . ' → ' : '') . $status($change['new_status']);
    }
    return $text;
}

/** Returns a record for people, such as "booking 17". */
function record_text(string $resource, int $id): string
{
    $texts = [
        /* translators: %d: a number. */
        'bookings' => __('booking %d', 'bookside'),
        /* translators: %d: a number. */
        'customers' => __('customer %d', 'bookside'),
        /* translators: %d: a number. */
        'agents' => __('agent %d', 'bookside'),
        /* translators: %d: a number. */
        'services' => __('service %d', 'bookside'),
        /* translators: %d: a number. */
        'locations' => __('location %d', 'bookside'),
        /* translators: %d: a number. */
        'payments' => __('payment %d', 'bookside'),
        /* translators: %d: a number. */
        'orders' => __('order %d', 'bookside'),
        /* translators: %d: a number. */
        'invoices' => __('invoice %d', 'bookside'),
        /* translators: %d: a number. */
        'coupons' => __('coupon %d', 'bookside'),
    ];
    return isset($texts[$resource]) ? sprintf($texts[$resource], $id) : $resource . ' ' . $id;
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
