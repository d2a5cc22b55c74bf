<?php

/**
 * The tab Overlaps.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

function show_overlaps(): void
{
    echo '<p>' . esc_html__('Bookings from today on that need the same agent, room or device at the same time. Open one of each pair in LatePoint and move or cancel it.', 'bookside') . '</p>';
    $found = ask_server('/overlaps');
    if (is_wp_error($found)) {
        show_problem($found);
        return;
    }
    $rows = [];
    foreach ($found['overlaps'] ?? [] as $overlap) {
        $rows[] = [
            'agent' => '<strong>' . esc_html($overlap['agent']) . '</strong>',
            'first' => booking_link($overlap['bookings'][0]),
            'second' => booking_link($overlap['bookings'][1]),
            'what' => esc_html($overlap['buffers_only'] ? __('only the buffers', 'bookside') : __('the appointments', 'bookside')),
        ];
    }
    $columns = [
        'agent' => __('Agent, room or device', 'bookside'), 'first' => __('Booking', 'bookside'), 'second' => __('Overlaps with', 'bookside'), 'what' => __('What overlaps', 'bookside'),
    ];
    show_table(__('Overlapping bookings', 'bookside'), $columns, $rows, __('No bookings overlap.', 'bookside'));
    if (!empty($found['more'])) {
        echo '<p>' . esc_html__('Not all are shown.', 'bookside') . '</p>';
    }
}
