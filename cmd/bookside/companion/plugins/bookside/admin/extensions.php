<?php

/**
 * The tab Extensions.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

function show_extensions(): void
{
    $answer = ask_server('/extensions');
    if (is_wp_error($answer)) {
        show_problem($answer);
        return;
    }
    $events = $answer['events'] ?? [];
    foreach ($events as $event) {
        if ($event['id'] === asked_id('event') && $event['repeatable']) {
            show_again_form($event);
            return;
        }
    }
    echo '<p>' . esc_html__('What other plugins, such as calendars and Zoom, were told about bookings made by the API.', 'bookside') . '</p>';
    $states = ['waiting' => __('waiting', 'bookside'), 'started' => __('being told', 'bookside'), 'done' => __('done', 'bookside'), 'failed' => __('failed', 'bookside')];
    $classes = ['done' => 'active', 'failed' => 'revoked'];
    $rows = [];
    foreach ($events as $event) {
        $name = $event['event'] . ' ' . $event['record_id'];
        $links = $event['repeatable'] ? [page_url('extensions', ['event' => $event['id']]) => __('Send again', 'bookside')] : [];
        $rows[] = [
            'event' => '<strong>' . esc_html($name) . '</strong>' . ($links ? row_actions($links, $name) : ''),
            'state' => state_text($classes[$event['state']] ?? 'expired', $states[$event['state']] ?? $event['state'])
                . ($event['failure'] === '' ? '' : '<br>' . esc_html($event['failure'])),
            'queued' => esc_html(local_time($event['created_at'])),
        ];
    }
    $columns = ['event' => __('Event', 'bookside'), 'state' => __('State', 'bookside'), 'queued' => __('Queued', 'bookside')];
    show_table(__('Extensions', 'bookside'), $columns, $rows, __('Nothing was reported to plugins yet.', 'bookside'));
}

function show_again_form(array $event): void
{
    /* translators: %s: an event, such as booking_created 12. */
    echo '<h2>' . esc_html(sprintf(__('Send %s again?', 'bookside'), $event['event'] . ' ' . $event['record_id'])) . '</h2>';
    echo '<p>' . esc_html($event['failure']) . '</p>';
    echo '<p>' . esc_html__('Plugins may already know of a new record, so they are told of it as a change this time. Messages are not sent again.', 'bookside') . '</p>';
    begin_form('again');
    hidden_field('event', (string) $event['id']);
    submit_row(__('Send again', 'bookside'), 'button-primary', 'extensions');
}
