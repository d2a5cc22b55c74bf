<?php

/** Returns a booking that is not stored. */
function test_draft(int $service, $agent, string $date, int $time): OsBookingModel
{
    $booking = new OsBookingModel();
    $booking->set_data(['service_id' => $service, 'start_date' => $date, 'start_time' => $time, 'total_attendees' => 1, 'status' => 'approved']);
    $booking->start_time = $time;
    $booking->duration = (new OsServiceModel($service))->duration;
    $booking->agent_id = $agent === 'any' ? LATEPOINT_ANY_AGENT : $agent;
    $booking->location_id = LATEPOINT_ANY_LOCATION;
    $booking->set_buffers();
    $booking->calculate_end_date_and_time();
    return $booking;
}

/** Returns the starts of each day that the site offers: of a service and an agent, from a day to a day. */
function test_offers(array $asked): object
{
    [$service, $agent, $from, $to] = $asked;
    $request = \LatePoint\Misc\BookingRequest::create_from_booking_model(test_draft($service, $agent, $from, 0));
    $days = [];
    foreach (OsResourceHelper::get_resources_grouped_by_day($request, new OsWpDateTime($from), new OsWpDateTime($to)) as $day => $resources) {
        $times = [];
        foreach (OsResourceHelper::get_ordered_booking_slots_from_resources($resources) as $slot) {
            if ($slot->can_accomodate(1)) {
                $times[] = sprintf('%02d:%02d', intdiv($slot->start_time, 60), $slot->start_time % 60);
            }
        }
        sort($times);
        $days[$day] = array_values(array_unique($times));
    }
    return (object) $days;
}

/** Returns what a booking costs on the site, and its breakdown. */
function test_price(array $asked): array
{
    [$service, $agent, $date, $time] = $asked;
    $booking = test_draft($service, $agent, $date, $time);
    $booking->location_id = 1;
    $cart = new OsCartModel();
    $cart->order_forced_customer_id = 'new';
    $item = new OsCartItemModel();
    $item->variant = LATEPOINT_ITEM_VARIANT_BOOKING;
    $item->item_data = wp_json_encode($booking->generate_params_for_booking_form());
    $cart->add_item($item, false);
    return [
        $cart->items[0]->get_subtotal(), $cart->items[0]->get_total(), $cart->get_subtotal(), $cart->get_tax_total(), $cart->get_coupon_discount(), $cart->get_total(),
        wp_json_encode($cart->generate_price_breakdown_rows(['balance', 'total', 'subtotal'])),
    ];
}
