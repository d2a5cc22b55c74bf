<?php

/**
 * Plugin Name: Decides
 * Description: An extension for tests: it uses each hook of LatePoint that decides about times, prices and acceptance once.
 */

defined('ABSPATH') || exit;

(static function (): void {
    $filter = static function (string $hook, callable $change): void {
        add_filter("latepoint_$hook", $change, 20, 5);
    };

    // Times. Agent 1 has lunch, agent 2 is elsewhere on Mondays, nothing begins at three, and there is an early start off the grid.
    $filter('blocked_periods_for_range', static function (array $days): array {
        foreach (array_keys($days) as $day) {
            $days[$day][] = new \LatePoint\Misc\BlockedPeriod(['start_date' => $day, 'end_date' => $day, 'start_time' => 720, 'end_time' => 780, 'agent_id' => 1]);
        }
        return $days;
    });
    $filter('get_booked_periods', static function (array $periods, $filter): array {
        for ($day = new OsWpDateTime($filter->date_from); $day->format('Y-m-d') <= ($filter->date_to ?: $filter->date_from); $day->modify('+1 day')) {
            if ($day->format('N') === '1') {
                $date = $day->format('Y-m-d');
                $periods[] = new \LatePoint\Misc\BookedPeriod([
                    'start_date' => $date, 'end_date' => $date, 'start_time' => 540, 'end_time' => 630, 'agent_id' => 2, 'service_id' => 99, 'location_id' => 1,
                    'buffer_before' => 0, 'buffer_after' => 0, 'total_attendees' => 1,
                ]);
            }
        }
        return $periods;
    });
    $filter('get_resources_grouped_by_day', static function (array $days): array {
        foreach ($days as $day => $resources) {
            foreach ($resources as $resource) {
                $resource->slots = array_values(array_filter($resource->slots, static function ($slot): bool {
                    return $slot->start_time !== 900;
                }));
                $early = new \LatePoint\Misc\BookingSlot();
                [$early->start_date, $early->start_time, $early->max_capacity, $early->min_capacity_to_be_blocked] = [$day, 367, 1, 1];
                array_unshift($resource->slots, $early);
            }
        }
        return $days;
    });
    $filter('calculated_total_duration', static function ($minutes, $booking) {
        return $minutes + ((int) $booking->service_id === 1 ? 10 : 0);
    });
    $filter('create_booking_request_from_booking_model', static function ($request) {
        $request->buffer_after += 5;
        return $request;
    });
    $filter('get_timeslot_blocking_statuses', static function (array $statuses): array {
        return array_merge($statuses, ['completed']);
    });
    $filter('agent_ids_assignable_to_any_agent_booking', static function (array $ids): array {
        return array_values(array_filter($ids, static function ($id): bool {
            return (int) $id !== 1;
        }));
    });
    $filter('get_any_agent_id_for_booking_by_rule', static function ($id, array $agents) {
        return $agents ? max(array_column($agents, 'id')) : $id;
    });

    // Prices: each adds an amount of its own, so that a sum tells who was asked.
    foreach (['full_amount_for_service' => 1, 'calculate_full_amount_for_booking' => 0.5, 'cart_item_full_amount_to_charge' => 0.25] as $hook => $more) {
        $filter($hook, static function ($amount, $of) use ($more) {
            return (float) $amount + $more * (isset($of->agent_id) ? 1 + (int) $of->agent_id : 1);
        });
    }
    add_action('latepoint_cart_calculate_prices', static function ($cart): void {
        $cart->tax_total = round($cart->subtotal * 0.19, 4);
        $cart->coupon_discount = 2;
        $cart->total = $cart->subtotal - 2 + $cart->tax_total;
    });
    foreach (['subtotal', 'total', 'tax_total', 'coupon_discount', 'coupon_code'] as $what) {
        $filter("cart_get_$what", static function ($value) use ($what) {
            return $what === 'total' ? (float) $value + 0.01 : ($what === 'coupon_code' ? 'LOYAL' : $value);
        });
        $filter("cart_item_get_$what", static function ($value) use ($what) {
            return $what === 'coupon_discount' ? 2 : ($what === 'total' ? (float) $value - 2 : $value);
        });
    }
    $filter('deposit_amount_for_service', static function ($amount) {
        return $amount;
    });
    $filter('price_breakdown_service_row_for_booking', static function (array $row): array {
        $row['items'][0]['note'] = 'mit Aufschlag / <b>';
        return $row;
    });
    $filter('cart_price_breakdown_rows', static function (array $rows): array {
        $rows['after_subtotal']['taxes'] = ['items' => [['label' => 'MwSt', 'raw_value' => '1.0000', 'value' => '1 €']]];
        return $rows;
    });

    // Acceptance.
    add_action('latepoint_model_validate', static function ($model): void {
        if ($model instanceof OsBookingModel && (int) $model->start_time === 660) {
            $model->add_error('validation', 'Nobody comes <em>at eleven</em>.');
        }
    });
    $filter('customer_model_validations', static function (array $rules): array {
        return $rules;
    });
    add_action('latepoint_process_step', static function (): void {
    });
})();
