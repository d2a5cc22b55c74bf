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
    echo '<p>' . esc_html__('Bookings from today on that one agent, room or device cannot all have. Open one of each pair in LatePoint and move or cancel it.', 'bookside') . '</p>';
    $found = ask_server('/overlaps');
    if (is_wp_error($found)) {
        show_problem($found);
        return;
    }
    $rows = [];
    foreach ($found['overlaps'] ?? [] as $overlap) {
        $rows[] = [
            'agent' => '<strong>' . esc_html($overlap['agent']) . '</strong>',
            'first' => overlap_link($overlap['bookings'][0]),
            'second' => overlap_link($overlap['bookings'][1]),
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

/** Returns a booking with a link to LatePoint's list that shows it, escaped. */
function overlap_link(array $booking): string
{
    return sprintf(
        '<a href="%s">%s</a><br>%s',
        esc_url(record_url('bookings', $booking['id'])),
        esc_html(booking_time($booking)),
        esc_html(implode(', ', array_filter([$booking['service'], $booking['customer'], $booking['code']])))
    );
}

/** Returns when a booking takes place, as the site shows dates. */
function booking_time(array $booking): string
{
    $clock = function (int $minutes): string {
        return gmdate((string) get_option('time_format'), ($minutes % 1440) * 60);
    };
    $day = (string) wp_date(get_option('date_format'), (int) strtotime($booking['date'] . ' 12:00:00 UTC'), new \DateTimeZone('UTC'));
    return $day . ', ' . $clock($booking['start']) . '–' . $clock($booking['end']);
}
