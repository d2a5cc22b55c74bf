<?php

/**
 * Books as the parts of LatePoint do, with LatePoint or its stand-in. Loaded by tests of the companion.
 */

/** Returns a booking that is not saved yet: of fifteen minutes, or as $values say. */
function test_booking(array $values): OsBookingModel
{
    $booking = new OsBookingModel();
    foreach (test_columns($values) as $column => $value) {
        $booking->$column = $value;
    }
    return $booking;
}

function test_columns(array $values): array
{
    $values += [
        'customer_id' => 1, 'service_id' => 1, 'agent_id' => 2, 'location_id' => 1, 'status' => 'approved', 'duration' => 15,
        'buffer_before' => 0, 'buffer_after' => 0, 'total_attendees' => 1,
    ];
    return $values + ['end_date' => $values['start_date'], 'end_time' => $values['start_time'] + $values['duration']];
}

/** Checks a cart out and returns the order, or why there is none; and whether something was charged. */
function test_checkout(array ...$bookings): array
{
    $charged = false;
    add_filter('latepoint_process_payment_for_order_intent', static function ($result, $intent) use (&$charged) {
        $charged = !$intent->get_error();
        return $result;
    }, 20, 2);
    $intent = new OsOrderIntentModel();
    $bookings = array_map('test_columns', $bookings);
    $payment = ($GLOBALS['test_payment'] ?? []) + array_fill_keys(['method', 'time', 'portion', 'token', 'processor'], '');
    if (property_exists($intent, 'cart')) {
        $intent->cart = $bookings;
        $intent->payment_data = wp_json_encode($payment);
    } else {
        $intent->customer_id = 1;
        $intent->cart_items_data = wp_json_encode(array_map(static function (array $booking): array {
            return ['variant' => 'booking', 'item_data' => $booking, 'coupon_code' => '']
                + array_fill_keys(['subtotal', 'total', 'coupon_discount', 'tax_total'], 0);
        }, $bookings));
        $intent->payment_data = wp_json_encode($payment);
        $intent->restrictions_data = '[]';
        $intent->presets_data = '[]';
        $intent->total = $intent->subtotal = $intent->charge_amount = 10;
        $intent->save();
    }
    $order = $intent->convert_to_order();
    return ['order' => (int) $order, 'error' => implode(' ', $intent->get_error_messages()), 'charged' => $charged];
}

/** Moves a booking as its customer, and returns whether that worked. */
function test_reschedule(int $id, string $date, int $time): bool
{
    $_POST['route_name'] = 'customer_cabinet__process_reschedule_request';
    $booking = new OsBookingModel($id);
    $booking->start_date = $booking->end_date = $date;
    $booking->start_time = $time;
    $booking->end_time = $time + (int) $booking->duration;
    $request = \LatePoint\Misc\BookingRequest::create_from_booking_model($booking);
    return OsBookingHelper::is_booking_request_available($request, ['exclude_booking_ids' => [$id]]) && $booking->save();
}

/** Saves bookings as staff do, without looking, and returns the last one, the errors and the warnings. */
function test_staff(array ...$bookings): array
{
    $warnings = [];
    add_action('bookside_overbooked', static function ($booking, $other) use (&$warnings): void {
        $warnings[] = (int) ($other['id'] ?? 0);
    }, 10, 2);
    $errors = [];
    foreach ($bookings as $values) { // the form looks before it makes the order
        $booking = test_booking($values);
        $booking->validate(false, ['order_item_id']);
        $errors = array_merge($errors, $booking->get_error() ? $booking->get_error_messages() : []);
    }
    foreach ($errors ? [] : $bookings as $values) {
        $booking = test_booking($values);
        $booking->order_item_id = test_order();
        $booking->save();
        $errors = array_merge($errors, $booking->get_error() ? $booking->get_error_messages() : []);
    }
    return ['id' => (int) $booking->id, 'errors' => $errors, 'warnings' => array_unique($warnings)];
}

/** Returns the id of the item of a new order. */
function test_order(): int
{
    $order = new OsOrderModel();
    $order->customer_id = 1;
    $order->save();
    $item = new OsOrderItemModel();
    $item->order_id = $order->id;
    $item->save();
    return (int) $item->id;
}

/** Saves a booking as an ability does, and returns the errors. */
function test_ability(array $values): array
{
    do_action('wp_before_execute_ability', 'latepoint/create-booking', []);
    $booking = test_booking($values);
    $booking->order_item_id = test_order();
    $booking->save();
    $errors = $booking->get_error() ? $booking->get_error_messages() : [];
    do_action('wp_after_execute_ability', 'latepoint/create-booking', [], null);
    return $errors;
}

/** Changes a booking's status alone, and returns the errors. */
function test_status(int $id, string $status): array
{
    $booking = new OsBookingModel($id);
    $booking->update_attributes(['status' => $status]);
    return $booking->get_error() ? $booking->get_error_messages() : [];
}

/** Lets a function run as the gateway that is asked for the payment: it gets the intent. */
function test_gateway(callable $pay): void
{
    add_filter('latepoint_process_payment_for_order_intent', static function ($result, $intent) use ($pay) {
        $pay($intent);
        return $result;
    }, 10, 2);
}

/** Waits at the payment until the test releases a lock of the database, whose name is an expression in SQL. */
function test_wait_at_payment(string $gate): void
{
    test_gateway(static function () use ($gate): void {
        global $wpdb;
        $wpdb->get_var("SELECT GET_LOCK($gate, 60)");
        $wpdb->get_var("SELECT RELEASE_LOCK($gate)");
    });
}

/** Returns whether nobody has the lock of an agent. */
function test_lock_is_free(int $agent): bool
{
    global $wpdb;
    $wpdb->suppress_errors();
    $wpdb->query('START TRANSACTION');
    $wpdb->query("SELECT n FROM {$wpdb->prefix}bookside_locks WHERE kind = 4 AND id = $agent FOR UPDATE NOWAIT");
    $error = $wpdb->last_error;
    $wpdb->query('ROLLBACK');
    $wpdb->suppress_errors(false);
    return $error === '';
}

/** Returns the number of the booking that keeps another one out of its slot; 0 for none. */
function test_occupied_by(array $values): int
{
    global $wp_filter;
    foreach ($wp_filter['query']->callbacks as $callbacks) {
        foreach ($callbacks as $callback) {
            if (is_array($callback['function']) && $callback['function'][0] instanceof BooksideJournal) {
                $slots = new ReflectionProperty(BooksideJournal::class, 'slots');
                $overlapping = new ReflectionMethod(BooksideSlots::class, 'overlapping');
                $slots->setAccessible(true);
                $overlapping->setAccessible(true);
                return (int) ($overlapping->invoke($slots->getValue($callback['function'][0]), test_booking($values))['id'] ?? 0);
            }
        }
    }
    return -1;
}

/** Makes the companion believe that it renewed its holds long ago. */
function test_time_passes(): void
{
    global $wp_filter;
    foreach ($wp_filter['pre_http_request']->callbacks[10] as $callback) {
        if ($callback['function'][0] instanceof BooksideHolds) {
            $renewed = new ReflectionProperty(BooksideHolds::class, 'renewed');
            $renewed->setAccessible(true);
            $renewed->setValue($callback['function'][0], microtime(true) - 61);
        }
    }
}

/**
 * Sends a request of wp-admin to LatePoint, as its administrator, and prints the answer; of a form, the values of its
 * fields by their names.
 */
function test_request(string $route, array $parameters): void
{
    require_once ABSPATH . 'wp-admin/includes/admin.php'; // as admin-ajax.php does
    wp_set_current_user(1);
    if (method_exists('OsAuthHelper', 'set_current_user')) {
        OsAuthHelper::set_current_user();
    }
    $_POST = wp_slash(['route_name' => $route, 'return_format' => 'json', 'layout' => 'none', 'params' => http_build_query($parameters)]);
    ob_start(static function (string $answer): string {
        $decoded = json_decode($answer, true);
        $fields = test_fields($decoded['message'] ?? '');
        return $fields === [] ? $answer : wp_json_encode($fields);
    });
    do_action('wp_ajax_latepoint_route_call');
    exit;
}

/** Returns the values that a browser would send of a form. */
function test_fields($html): array
{
    $fields = [];
    preg_match_all('/<(?:(input)\b([^>]*)|(select|textarea)\b([^>]*)>(.*?)<\/\3)>/s', str_replace('/>', '>', (string) $html), $elements, PREG_SET_ORDER);
    foreach ($elements as $element) {
        $kind = $element[1] ?: $element[3];
        $attributes = $element[2] ?: $element[4];
        $inner = $element[5] ?? '';
        if (!preg_match('/\sname="([^"]+)"/', $attributes, $name)) {
            continue;
        }
        $value = preg_match('/\svalue="([^"]*)"/', $attributes, $found) ? $found[1] : '';
        if ($kind === 'input' && preg_match('/type="(checkbox|radio)"/', $attributes) && strpos($attributes, 'checked') === false) {
            continue;
        }
        if ($kind === 'textarea') {
            $value = $inner;
        } elseif ($kind === 'select') {
            $option = '/<option(?=[^>]*\sselected)[^>]*\svalue="([^"]*)"/';
            $value = preg_match($option, $inner, $found) || preg_match('/<option[^>]*\svalue="([^"]*)"/', $inner, $found) ? $found[1] : '';
        }
        $fields[html_entity_decode($name[1])] = html_entity_decode($value, ENT_QUOTES);
    }
    return $fields;
}

/** Checks out a cart with a booking as the site's form does, at the site's prices, and returns the order, or why there is none. */
function test_cart_checkout(array $values): array
{
    $item = new OsCartItemModel();
    $item->variant = LATEPOINT_ITEM_VARIANT_BOOKING;
    $item->item_data = wp_json_encode(test_booking($values)->generate_params_for_booking_form());
    $cart = new OsCartModel();
    $cart->items = []; // LatePoint would read the one that it adds, too
    $cart->payment_time = LATEPOINT_PAYMENT_TIME_LATER;
    $cart->add_item($item);
    $cart->calculate_prices();
    $intent = OsOrderIntentHelper::create_or_update_order_intent($cart, [], [], 'https://site.test/', $values['customer_id']);
    return ['order' => (int) $intent->convert_to_order(), 'error' => implode(' ', $intent->get_error_messages())];
}
