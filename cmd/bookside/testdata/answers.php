<?php

/** Returns LatePoint's answer to each question about a booking: its length, when it may begin, and what it costs at one of these times. */
function test_answers(array $questions): array
{
    return array_map(static function (array $q): array {
        $booking = test_draft($q, 0);
        $request = \LatePoint\Misc\BookingRequest::create_from_booking_model($booking);
        $answer = ['duration' => (int) $request->duration, 'starts' => []];
        foreach (OsResourceHelper::get_resources_grouped_by_day($request, new OsWpDateTime($q['date']), new OsWpDateTime($q['date'])) as $resources) {
            foreach (OsResourceHelper::get_ordered_booking_slots_from_resources($resources) as $slot) {
                if ($slot->can_accomodate($request->total_attendees)) {
                    $answer['starts'][$slot->start_time] = $slot->available_capacity();
                }
            }
        }
        if ($answer['starts'] !== []) {
            $starts = array_keys($answer['starts']);
            $answer['start'] = $starts[$q['pick'] % count($starts)];
            $answer += test_price(test_draft($q, $answer['start']), $q);
        }
        $answer['starts'] = (object) $answer['starts'];
        return $answer;
    }, $questions);
}

/** Returns a booking that is not stored. */
function test_draft(array $q, int $start): OsBookingModel
{
    $booking = new OsBookingModel();
    $booking->set_data(['service_id' => $q['service'], 'start_date' => $q['date'], 'status' => 'approved', 'service_extras_ids' => $q['extras']]);
    $booking->start_date = $q['date'];
    $booking->start_time = $start;
    $booking->duration = $q['duration'];
    $booking->total_attendees = $q['attendees'];
    $booking->agent_id = $q['agent'] ?: LATEPOINT_ANY_AGENT; // set_data turns it into a number
    $booking->location_id = $q['location'] ?: LATEPOINT_ANY_LOCATION;
    $booking->set_buffers();
    $booking->calculate_end_date_and_time();
    $booking->set_utc_datetimes();
    return $booking;
}

/** Returns what a booking costs, and why it is refused, if extensions are asked. */
function test_price(OsBookingModel $booking, array $q): array
{
    $bookable = !$q['asked'] || $booking->is_bookable(['skip_customer_check' => true, 'log_errors' => false]); // chooses the agent
    $refusal = implode(' ', $booking->get_error_messages('validation'));
    $item = new OsCartItemModel();
    $item->variant = LATEPOINT_ITEM_VARIANT_BOOKING;
    $item->item_data = wp_json_encode($booking->generate_params_for_booking_form() + ['total_attendees' => $q['attendees'], 'service_extras_ids' => $q['extras']]);
    $cart = new OsCartModel();
    $cart->order_forced_customer_id = 'new';
    $cart->coupon_code = $q['coupon'];
    $cart->add_item($item, false);
    [$item] = $cart->items;
    $sums = [$item->get_subtotal(), $item->get_total(), $cart->get_subtotal(), $cart->get_coupon_discount(), $cart->get_tax_total(), $cart->get_total()];
    $rows = $cart->generate_price_breakdown_rows(['balance', 'total', 'subtotal']);
    $parts = [];
    foreach (array_merge($rows['before_subtotal'], array_values($rows['after_subtotal'])) as $part) {
        foreach (array_merge($part['items'], $part['sub_items'] ?? []) as $row) {
            $parts[] = implode('|', [$row['label'], number_format((float) $row['raw_value'], 4, '.', ''), $row['note'] ?? '', $row['badge'] ?? '']);
        }
    }
    return ['parts' => $parts, 'refused' => $refusal !== '', 'taken' => !$bookable && $refusal === '', 'discounted' => $item->get_coupon_code() !== '', 'price' => implode(' ', array_slice($sums, 1))];
}
