<?php

defined('ABSPATH') || exit;

/**
 * Reports this site's decisions, including those of extensions, about bookings of the API: which times it offers, what a booking
 * costs and whether it is accepted. Nothing is stored. adapter/extensions in Bookside is the other side.
 */
class BooksideDecisions
{
    /** What is not validated before a booking is stored, as in LatePoint's own check. */
    private const LATER = ['order_item_id', 'status', 'customer_id'];

    public static function register(): void
    {
        BooksideAsk::about('decisions', [self::class, 'decide']);
    }

    /** @param mixed $asked */
    public static function decide($asked): array
    {
        $of = static function (string $what) use ($asked): array {
            return array_values(array_filter(is_array($asked[$what] ?? null) ? $asked[$what] : [], 'is_array'));
        };
        $each = static function (string $answer) {
            return static function (array $draft) use ($answer) {
                BooksideAsk::checkTime();
                return self::$answer($draft);
            };
        };
        return ['times' => array_map($each('times'), $of('times')), 'bookings' => array_map($each('judge'), $of('bookings'))];
    }

    /** Returns the starts of each agent at each location that LatePoint offers on some days, and how long the booking takes. */
    private static function times(array $draft): array
    {
        $booking = self::booking($draft);
        $request = \LatePoint\Misc\BookingRequest::create_from_booking_model($booking);
        $duration = (int) $request->duration;
        $settings = [
            'timezone_name' => OsTimeHelper::get_wp_timezone_name(), // not the visitor's
            'exclude_booking_ids' => empty($draft['id']) ? [] : [(int) $draft['id']],
            'accessed_from_backend' => false,
            'consider_cart_items' => false,
        ];
        $found = [];
        $days = OsResourceHelper::get_resources_grouped_by_day($request, new OsWpDateTime($draft['start_date']), new OsWpDateTime($draft['date_to']), $settings);
        foreach ($days as $day => $resources) {
            foreach ($resources as $resource) {
                $key = $resource->agent_id . ' ' . $resource->location_id;
                $found[$key] = $found[$key] ?? ['agent' => (int) $resource->agent_id, 'location' => (int) $resource->location_id, 'days' => []];
                foreach ($resource->slots as $slot) {
                    if ($slot->can_accomodate($request->total_attendees)) {
                        $found[$key]['days'][$day][] = [(int) $slot->start_time, (int) $slot->available_capacity()];
                    }
                }
            }
        }
        foreach ($found as $key => $resource) {
            $found[$key]['days'] = (object) $resource['days'];
        }
        return ['duration' => $duration, 'resources' => array_values($found)];
    }

    /** Returns whether LatePoint would book something, by whom and where, why not, and what it costs. */
    private static function judge(array $draft): object
    {
        $booking = self::booking($draft);
        $answer = [];
        if (empty($draft['id'])) {
            $answer['available'] = $booking->is_bookable(['skip_customer_check' => true, 'log_errors' => false]);
            if ((int) $booking->start_time !== 0) { // at midnight LatePoint chooses an agent without checking the calendar
                $answer['agent_id'] = (int) $booking->agent_id; // "any" ids are words, until one is chosen
                $answer['location_id'] = (int) $booking->location_id;
            }
        } else {
            $booking->validate(false, self::LATER); // LatePoint's check counts the booking against itself
        }
        $refusals = $booking->get_error_messages('validation');
        if ($refusals !== []) {
            $answer['available'] = true; // the slot is checked separately
            $answer['refusal'] = wp_strip_all_tags(implode(' ', $refusals));
        }
        if (!empty($draft['price'])) {
            $answer['price'] = self::price($booking, $draft);
        }
        return (object) $answer;
    }

    /** Returns what an order of a booking alone costs, by a cart that is not stored. */
    private static function price(OsBookingModel $booking, array $draft): array
    {
        $data = $booking->generate_params_for_booking_form();
        $data = ['id' => null, 'total_attendees' => $booking->total_attendees] + $data + ['service_extras_ids' => (string) ($draft['service_extras_ids'] ?? '')];
        $item = new OsCartItemModel();
        $item->variant = LATEPOINT_ITEM_VARIANT_BOOKING;
        $item->item_data = wp_json_encode($data);
        $cart = new OsCartModel();
        $cart->order_forced_customer_id = (int) ($draft['customer_id'] ?? 0) ?: 'new'; // not the customer who is logged in
        $cart->coupon_code = (string) ($draft['coupon_code'] ?? '');
        $cart->add_item($item, false);
        $item = $cart->items[0];
        return [
            'subtotal' => $cart->get_subtotal(),
            'total' => $cart->get_total(),
            'tax' => $cart->get_tax_total(),
            'discount' => $cart->get_coupon_discount(),
            'coupon_code' => (string) $cart->get_coupon_code(),
            'item' => ['subtotal' => $item->get_subtotal(), 'total' => $item->get_total(), 'discount' => $item->get_coupon_discount()],
            'breakdown' => wp_json_encode($cart->generate_price_breakdown_rows(['balance', 'total', 'subtotal']), JSON_UNESCAPED_SLASHES),
        ];
    }

    /** Returns a booking that is not stored, with the columns of a draft. */
    private static function booking(array $draft): OsBookingModel
    {
        BooksideHolds::$used = (int) ($draft['hold_id'] ?? 0);
        $columns = ['id', 'service_id', 'start_date', 'start_time', 'duration', 'buffer_before', 'buffer_after', 'total_attendees', 'status', 'customer_id', 'service_extras_ids'];
        $data = array_filter(array_intersect_key($draft, array_flip($columns)), static function ($value): bool {
            return !in_array($value, [0, '', null], true);
        });
        if (!empty($draft['custom_fields'])) {
            $data['custom_fields'] = (array) json_decode((string) $draft['custom_fields'], true);
        }
        $booking = new OsBookingModel();
        $booking->set_data($data); // extensions listen to it
        foreach (['start_date', 'start_time', 'duration', 'buffer_before', 'buffer_after', 'total_attendees'] as $column) {
            $booking->$column = $draft[$column];
        }
        $booking->agent_id = $draft['agent_id'] ?: LATEPOINT_ANY_AGENT; // set_data turns it into a number
        $booking->location_id = $draft['location_id'] ?: LATEPOINT_ANY_LOCATION;
        $booking->calculate_end_date_and_time();
        $booking->set_utc_datetimes();
        return $booking;
    }
}
