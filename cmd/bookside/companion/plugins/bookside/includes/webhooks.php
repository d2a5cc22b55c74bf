<?php

/**
 * Webhooks and the log of what was sent. The sidecar sends.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

const SHOWN_DELIVERIES = 50;

/** Returns all webhooks, as rows of the table without their secrets. */
function list_webhooks(): array
{
    global $wpdb;
    if (!has_table(own_table('webhooks'))) {
        return [];
    }
    return $wpdb->get_results('SELECT id, name, url, events, agents, services, locations, key_id, status, reason, failing_since, created_at FROM ' . own_table('webhooks') . ' ORDER BY id LIMIT 200');
}

/** Returns the webhook with an id, or null. */
function find_webhook(int $id): ?object
{
    foreach (list_webhooks() as $webhook) {
        if ((int) $webhook->id === $id) {
            return $webhook;
        }
    }
    return null;
}

/** Returns the latest deliveries of a webhook, the newest first. */
function list_deliveries(int $webhook): array
{
    global $wpdb;
    return $wpdb->get_results($wpdb->prepare(
        'SELECT id, number, event, resource, resource_id, status, tries, due_at, failure, created_at, finished_at FROM ' . own_table('webhook_deliveries')
        . ' WHERE webhook_id = %d ORDER BY id DESC LIMIT %d',
        $webhook,
        SHOWN_DELIVERIES
    ));
}

/** Returns the last try of each of some deliveries, by the id of the delivery. */
function last_tries(array $deliveries): array
{
    global $wpdb;
    $ids = array_map('intval', wp_list_pluck($deliveries, 'id'));
    if (!$ids) {
        return [];
    }
    $list = implode(', ', array_fill(0, count($ids), '%d'));
    $tries = $wpdb->get_results($wpdb->prepare(
        'SELECT delivery_id, at, status, took_ms, failure FROM ' . own_table('webhook_tries') . " WHERE delivery_id IN ($list) ORDER BY id LIMIT 2000",
        ...$ids
    ));
    $last = [];
    foreach ($tries as $try) {
        $last[(int) $try->delivery_id] = $try;
    }
    return $last;
}

/** Returns a URL without what may be secret in it: the user, the query and the fragment. */
function masked_url(string $url): string
{
    $parts = wp_parse_url($url);
    if (!is_array($parts) || empty($parts['host'])) {
        return '…';
    }
    return ($parts['scheme'] ?? 'https') . '://' . $parts['host'] . (isset($parts['port']) ? ':' . $parts['port'] : '') . ($parts['path'] ?? '')
        . (isset($parts['query']) ? '?…' : '');
}
