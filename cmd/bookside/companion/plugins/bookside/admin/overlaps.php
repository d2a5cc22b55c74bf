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
    echo '<p>' . esc_html__('Bookings from today on that one agent cannot all keep. Open one of each pair in LatePoint and move or cancel it.', 'bookside') . '</p>';
    $found = find_overlaps();
    $ids = [];
    foreach ($found['overlaps'] as $overlap) {
        array_push($ids, $overlap['first'], $overlap['second']);
    }
    $bookings = describe_bookings(array_unique($ids));
    $rows = [];
    foreach ($found['overlaps'] as $overlap) {
        $rows[] = [
            'agent' => '<strong>' . esc_html($bookings[$overlap['first']]->agent ?? (string) $overlap['agent']) . '</strong>',
            'first' => overlap_link($bookings[$overlap['first']] ?? null),
            'second' => overlap_link($bookings[$overlap['second']] ?? null),
            'what' => esc_html($overlap['buffers_only'] ? __('only the buffers', 'bookside') : __('the appointments', 'bookside')),
        ];
    }
    $columns = [
        'agent' => __('Agent', 'bookside'), 'first' => __('Booking', 'bookside'), 'second' => __('Overlaps with', 'bookside'), 'what' => __('What overlaps', 'bookside'),
    ];
    show_table(__('Overlapping bookings', 'bookside'), $columns, $rows, __('No bookings overlap.', 'bookside'));
    if ($found['cut']) {
        echo '<p>' . esc_html__('There are more than are shown.', 'bookside') . '</p>';
    }
}

/** Returns a booking with a link to LatePoint's list that shows it, escaped. */
function overlap_link(?object $booking): string
{
    if ($booking === null) {
        return '';
    }
    return sprintf(
        '<a href="%s">%s</a><br>%s',
        esc_url(record_url('bookings', (int) $booking->id)),
        esc_html(booking_time($booking)),
        esc_html(implode(', ', array_filter([$booking->service, $booking->customer, $booking->booking_code])))
    );
}
