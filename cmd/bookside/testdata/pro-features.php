<?php

/**
 * Plugin Name: Pro Features
 * Description: A stand-in for tests: it decides about times and prices as that add-on of LatePoint is known to, by the same hooks and from the same tables.
 */

defined('ABSPATH') || exit;

(static function (): void {
    $rows = static function (string $query, ...$values): array {
        global $wpdb;
        $query = str_replace('{p}', $wpdb->prefix . 'latepoint_', $query);
        $found = $wpdb->get_results($values ? $wpdb->prepare($query, ...$values) : $query);
        if ($wpdb->last_error) {
            throw new RuntimeException($wpdb->last_error);
        }
        return $found;
    };
    $meta = static function (string $kind, int $id, string $key) use ($rows): string {
        return $rows("SELECT meta_value FROM {p}{$kind}_meta WHERE object_id = %d AND meta_key = %s", $id, $key)[0]->meta_value ?? '';
    };
    $blocking = static function (): string {
        return "'" . implode("', '", array_map('esc_sql', OsBookingHelper::get_timeslot_blocking_statuses())) . "'";
    };
    $block = static function (array &$days, string $day, int $start, int $end, int $agent): void {
        $days[$day][] = new \LatePoint\Misc\BlockedPeriod(['start_date' => $day, 'end_date' => $day, 'start_time' => $start, 'end_time' => $end, 'agent_id' => $agent]);
    };

    // Extras. A booking has them only after set_data.
    add_action('latepoint_model_set_data', static function ($model, $data) use ($rows): void {
        if (!$model instanceof OsBookingModel) {
            return;
        }
        $model->service_extras = null;
        foreach (array_filter(explode(',', (string) ($data['service_extras_ids'] ?? ''))) as $chosen) {
            [$id, $quantity] = explode(':', $chosen);
            $extra = $rows('SELECT * FROM {p}service_extras WHERE id = %d', $id)[0];
            $extra->quantity = (int) $quantity;
            $model->service_extras[] = $extra;
        }
    }, 10, 2);
    add_filter('latepoint_generated_params_for_booking_form', static function (array $params, $booking): array {
        $extras = array_map(static function ($extra): string {
            return $extra->id . ':' . $extra->quantity;
        }, $booking->service_extras ?? []);
        return $params + ['total_attendees' => $booking->total_attendees, 'service_extras_ids' => implode(',', $extras)];
    }, 10, 2);
    add_filter('latepoint_calculated_total_duration', static function ($minutes, $booking): int {
        foreach ($booking->service_extras ?? [] as $extra) {
            $minutes += $extra->duration * $extra->quantity;
        }
        return (int) $minutes;
    }, 10, 2);

    // Times: off periods and limits of a day, then assets.
    add_filter('latepoint_blocked_periods_for_range', static function (array $days, $filter) use ($rows, $meta, $blocking, $block): array {
        if (!$filter->connections) {
            return $days;
        }
        $scopes = array_map(static function ($connection): string {
            return sprintf(
                '(agent_id IN (0, %d) AND service_id IN (0, %d) AND location_id IN (0, %d))',
                $connection->agent_id,
                $connection->service_id,
                $connection->location_id
            );
        }, $filter->connections);
        $off = $rows('SELECT * FROM {p}blocked_periods WHERE start_date BETWEEN %s AND %s AND (' . implode(' OR ', $scopes) . ')', $filter->date_from, $filter->date_to);
        foreach ($off as $period) {
            $block($days, $period->start_date, (int) $period->start_time, (int) $period->end_time, (int) $period->agent_id);
        }
        $limits = [];
        foreach ($filter->connections as $connection) {
            $limits["agent_id = $connection->agent_id"] = [(int) $connection->agent_id, (int) $meta('agent', (int) $connection->agent_id, 'max_bookings_per_day')];
        }
        if ($filter->service_id) {
            $limits['service_id = ' . (int) $filter->service_id] = [0, (int) $meta('service', (int) $filter->service_id, 'max_bookings_per_day')];
        }
        foreach (array_keys($days) as $day) {
            foreach ($limits as $of => [$agent, $most]) {
                if ($most > 0 && (int) $rows("SELECT COUNT(*) AS n FROM {p}bookings WHERE start_date = %s AND $of AND status IN ({$blocking()})", $day)[0]->n >= $most) {
                    $block($days, $day, 0, 1440, $agent);
                }
            }
        }
        return $days;
    }, 10, 2);
    add_filter('latepoint_get_resources_grouped_by_day', static function (array $days, $request) use ($rows, $blocking): array {
        if (OsSettingsHelper::get_settings_value('enable_assets_functionality') !== 'on') {
            return $days;
        }
        $assets = $rows("SELECT a.* FROM {p}assets a JOIN {p}services_assets s ON s.asset_id = a.id WHERE s.service_id = %d AND a.status = 'active'", $request->service_id);
        foreach ($days as $day => $resources) {
            foreach ($assets as $asset) {
                $agents = array_column($rows('SELECT agent_id FROM {p}agents_assets WHERE asset_id = %d', $asset->id), 'agent_id');
                $taken = $rows(
                    'SELECT b.start_time - b.buffer_before AS start, b.end_time + b.buffer_after AS end FROM {p}bookings b '
                    . "WHERE b.start_date = %s AND b.status IN ({$blocking()}) AND b.id IN (SELECT booking_id FROM {p}bookings_assets WHERE asset_id = %d)",
                    $day,
                    $asset->id
                );
                foreach ($resources as $resource) {
                    foreach ($agents && !in_array($resource->agent_id, $agents) ? [] : $resource->slots as $slot) {
                        $overlapping = array_filter($taken, static function ($booking) use ($slot, $request): bool {
                            return $booking->start < $slot->start_time + $request->duration && $booking->end > $slot->start_time;
                        });
                        if (count($overlapping) >= max(1, (int) $asset->quantity)) {
                            $slot->booked_capacity = $slot->max_capacity;
                        }
                    }
                }
            }
        }
        return $days;
    }, 12, 2);

    // Prices.
    $multiplied = static function ($booking) use ($meta): bool {
        return $booking->total_attendees > 1 && $meta('service', (int) $booking->service_id, 'dont_multiply_charge_amount_by_attendees') !== 'on';
    };
    $fee = static function ($booking) use ($meta): float {
        return max(0, (float) $meta('service', (int) $booking->service_id, 'base_fee'));
    };
    $costs = static function ($extra, $booking): float {
        return $extra->charge_amount * $extra->quantity * ($extra->multiplied_by_attendees === 'on' && $booking->total_attendees > 1 ? $booking->total_attendees : 1);
    };
    add_filter('latepoint_full_amount_for_service', static function ($amount, $booking) use ($multiplied) {
        return $multiplied($booking) ? $amount * $booking->total_attendees : $amount;
    }, 10, 2);
    add_filter('latepoint_full_amount_for_service', static function ($amount, $booking) use ($fee) {
        return $amount + $fee($booking);
    }, 11, 2);
    add_filter('latepoint_calculate_full_amount_for_booking', static function ($amount, $booking) use ($costs) {
        foreach ($booking->service_extras ?? [] as $extra) {
            $amount += $costs($extra, $booking);
        }
        return $amount;
    }, 9, 2);

    /** Returns the items for which the cart's coupon is valid, none if it is not, and the coupon. */
    $coupon = static function (OsCartModel $cart) use ($rows): array {
        $coupon = $cart->coupon_code === '' ? null : ($rows("SELECT * FROM {p}coupons WHERE code = %s AND status = 'active'", $cart->coupon_code)[0] ?? null);
        $now = time();
        $at = static function (string $day) use ($now): int {
            return strtotime($day . gmdate(' H:i:s', $now) . ' UTC');
        };
        $rules = json_decode((string) ($coupon->rules ?? ''), true) ?: [];
        if (
            !$coupon || ($coupon->active_from && $at($coupon->active_from) > $now) || ($coupon->active_to && $at($coupon->active_to) <= $now)
            || $cart->subtotal < (float) ($rules['minimum_order_subtotal'] ?? 0)
        ) {
            return [[], null];
        }
        return [array_filter($cart->get_items(), static function ($item) use ($rules): bool {
            foreach (['agent_ids' => 'agent_id', 'service_ids' => 'service_id'] as $rule => $of) {
                if (!empty($rules[$rule]) && !in_array((string) $item->get_item_data_value_by_key($of), explode(',', $rules[$rule]), true)) {
                    return false;
                }
            }
            return true;
        }), $coupon];
    };
    add_action('latepoint_cart_calculate_prices', static function (OsCartModel $cart) use ($coupon): void {
        [$items, $valid] = $coupon($cart);
        $most = $valid ? (int) (json_decode((string) $valid->rules, true)['limit_per_order'] ?? 0) : 0;
        $cart->coupon_discount = 0;
        foreach ($most ? array_slice($items, 0, $most) : $items as $item) {
            $amount = $valid->discount_type === 'percent' ? round($item->subtotal * $valid->discount_value / 100, 4) : (float) $valid->discount_value;
            $item->coupon_code = $cart->coupon_code;
            $item->coupon_discount = min((float) $item->subtotal, $amount);
            $item->total = $item->subtotal - $item->coupon_discount;
            $cart->coupon_discount += $item->coupon_discount;
        }
        $cart->total -= $cart->coupon_discount;
    });
    $taxes = static function (): array {
        return json_decode((string) OsSettingsHelper::get_settings_value('taxes', ''), true) ?: [];
    };
    $amount = static function (array $tax, float $net): float {
        return $tax['type'] === 'fixed' ? (float) $tax['value'] : $net * $tax['value'] / 100;
    };
    add_action('latepoint_cart_calculate_prices', static function (OsCartModel $cart) use ($taxes, $amount): void {
        $cart->tax_total = 0;
        foreach ($taxes() as $tax) {
            $cart->tax_total += $amount($tax, (float) $cart->total);
        }
        $cart->total += $cart->tax_total;
    });

    // What a price is made of.
    $row = static function (string $label, float $amount, array $more): array {
        return ['label' => $label, 'raw_value' => OsMoneyHelper::pad_to_db_format($amount), 'value' => OsMoneyHelper::format_price($amount, true, false)] + $more;
    };
    add_filter('latepoint_price_breakdown_service_row_for_booking', static function (array $part, $booking) use ($row, $costs, $multiplied, $fee): array {
        $service = new OsServiceModel($booking->service_id);
        $notes = [];
        if ($multiplied($booking)) {
            $notes[] = "($booking->total_attendees x " . OsMoneyHelper::format_price($service->get_full_amount_for_duration($booking->duration), true, false) . ')';
        }
        if ($fee($booking) > 0) {
            $notes[] = '+ ' . OsMoneyHelper::format_price($fee($booking), true, false) . ' base fee';
        }
        $part['items'][0]['note'] = implode(' ', $notes);
        foreach ($booking->service_extras ?? [] as $extra) {
            $one = OsMoneyHelper::format_price($extra->charge_amount, true, false);
            $part['sub_items'][] = $row($extra->name, $costs($extra, $booking), ['style' => 'sub', 'note' => $extra->quantity > 1 ? "($extra->quantity x $one)" : '']);
        }
        return $part;
    }, 10, 2);
    add_filter('latepoint_cart_price_breakdown_rows', static function (array $rows, OsCartModel $cart) use ($row, $coupon, $taxes, $amount): array {
        if ($coupon($cart)[0]) {
            $rows['after_subtotal']['discounts']['items'][] = ['raw_value' => -$cart->coupon_discount] + $row('Coupon', $cart->coupon_discount, ['badge' => $cart->coupon_code, 'type' => 'credit']);
        }
        foreach ($taxes() as $tax) {
            $rows['after_subtotal']['taxes']['items'][] = $row($tax['name'] . ($tax['type'] === 'percentage' ? ' (' . (float) $tax['value'] . '%)' : ''), $amount($tax, $cart->total - $cart->tax_total), []);
        }
        return $rows;
    }, 10, 2);
})();
