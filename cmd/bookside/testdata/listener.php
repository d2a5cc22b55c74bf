<?php

/**
 * Plugin Name: Listener
 * Description: An extension for tests: it notes what LatePoint's actions tell it, waits while the test says so, and one of its listeners throws.
 */

defined('ABSPATH') || exit;

(static function (): void {
    $types = static function ($value) {
        return is_object($value) ? array_filter(get_object_vars($value), 'is_scalar') : $value;
    };
    foreach (['customer_created', 'customer_updated', 'booking_created', 'booking_updated', 'booking_change_status', 'booking_deleted', 'order_created', 'order_updated', 'transaction_created'] as $action) {
        add_action("latepoint_$action", static function (...$arguments) use ($action, $types): void {
            note_call($action, array_map($types, $arguments));
        }, 20, 3);
    }
    add_action('latepoint_booking_will_be_deleted', static function ($id): void {
        note_call('booking_will_be_deleted', [$id, (new OsBookingModel($id))->booking_code]);
    });
    add_action('latepoint_booking_created', static function ($booking): void {
        echo 'output that nobody wants';
        throw new RuntimeException('ada.neu@example.test (+49 30 123456): the calendar "of Ada" does not answer, https://u:p@calendar.example/v1?key=1 eyJhbGciOiJIUzI1NiJ9');
    }, 11);

    function note_call(string $action, array $arguments): void
    {
        file_put_contents(WP_CONTENT_DIR . '/calls.jsonl', json_encode([$action, $arguments]) . "\n", FILE_APPEND | LOCK_EX);
        $gate = WP_CONTENT_DIR . '/listener-waits'; // names an action, or none for all
        while (file_exists($gate) && in_array(@file_get_contents($gate), ['', $action], true)) { // phpcs:ignore -- it may be gone meanwhile
            usleep(10000);
            clearstatcache();
        }
    }
})();
