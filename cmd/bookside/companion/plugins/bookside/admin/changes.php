<?php

/**
 * The tab Changes.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

function show_changes(): void
{
    echo '<p>' . esc_html__('What changed in the last 24 hours, and who changed it.', 'bookside') . '</p>';
    $changes = list_changes(asked_id('before'));
    if (is_wp_error($changes)) {
        show_problem($changes);
        return;
    }
    $authors = change_authors($changes);
    $rows = [];
    foreach ($changes as $change) {
        $text = record_text($change['resource'], $change['resource_id']);
        $url = $change['kind'] === 'deleted' ? '' : record_url($change['resource'], $change['resource_id']);
        $rows[] = [
            'record' => $url === '' ? esc_html($text) : sprintf('<a href="%s">%s</a>', esc_url($url), esc_html($text)),
            'change' => esc_html(change_text($change)),
            'author' => esc_html($authors[$change['number']]),
            'at' => esc_html(local_time($change['at'])),
        ];
    }
    $columns = ['record' => __('Record', 'bookside'), 'change' => _x('Change', 'noun', 'bookside'), 'author' => __('By', 'bookside'), 'at' => __('Time', 'bookside')];
    show_table(__('Changes of the last day', 'bookside'), $columns, $rows, __('Nothing changed.', 'bookside'));
    if (count($changes) === SHOWN_CHANGES) {
        $last = end($changes);
        printf('<p><a class="button" href="%s">%s</a></p>', esc_url(page_url('changes', ['before' => $last['number']])), esc_html__('Earlier changes', 'bookside'));
    }
}
