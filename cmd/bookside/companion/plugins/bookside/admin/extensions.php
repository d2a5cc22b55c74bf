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
    if (isset($answer['extensions'])) { // older servers, and those without LatePoint, only say what extensions were told
        show_extension_list($answer['extensions']);
        if (!$answer['extensions'] && !$events) {
            return;
        }
    }
    echo '<h2>' . esc_html__('What they were told', 'bookside') . '</h2>';
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

/** Shows what is added to LatePoint, and how the API treats it. */
function show_extension_list(array $extensions): void
{
    $rows = [];
    foreach ($extensions as $extension) {
        $rows[] = ['extension' => '<strong>' . esc_html($extension['title']) . '</strong>', 'treatment' => extension_treatment($extension['parts'])];
    }
    $columns = ['extension' => __('Extension', 'bookside'), 'treatment' => __('What the API does with it', 'bookside')];
    show_table(__('Extensions', 'bookside'), $columns, $rows, __('No plugin, theme or snippet adds anything to LatePoint.', 'bookside'));
    if ($rows) {
        echo '<p class="description">' . esc_html__('"bookside extensions" on the server says in a sentence what each part means.', 'bookside') . '</p>';
    }
}

/** Returns the subjects of the parts of an extension by how the API treats them, escaped. */
function extension_treatment(array $parts): string
{
    $kinds = [
        'understood' => __('as on the site', 'bookside'), 'asked' => __('WordPress is asked', 'bookside'), 'run_afterwards' => __('WordPress does it right after', 'bookside'),
        'takes_no_part' => __('takes no part', 'bookside'), 'not_honoured' => __('not honoured', 'bookside'),
    ];
    $subjects = [
        'times' => __('times', 'bookside'), 'prices' => __('prices', 'bookside'), 'acceptance' => __('whether a booking is accepted', 'bookside'), 'records' => __('what is stored', 'bookside'),
        'messages' => __('messages', 'bookside'), 'reactions' => __('what happens afterwards', 'bookside'), 'pages' => __('pages of the site', 'bookside'),
    ];
    $treated = [];
    foreach ($parts as $part) {
        $treated[$part['kind']][$part['subject']] = $subjects[$part['subject']] ?? $part['subject'];
    }
    $lines = [];
    foreach ($treated as $kind => $about) {
        $class = ['not_honoured' => 'revoked', 'takes_no_part' => 'expired'][$kind] ?? 'active';
        $lines[] = state_text($class, $kinds[$kind] ?? $kind) . ': ' . esc_html(implode(', ', $about));
    }
    return implode('<br>', $lines);
}
