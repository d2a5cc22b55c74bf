<?php

/**
 * Plugin Name: Faulty
 * Description: An extension for tests: it notes what it is told and the mails of the site, and has the fault that the test names when it is told about a booking.
 */

defined('ABSPATH') || exit;

(static function (): void {
    $note = static function (string $what): void {
        file_put_contents(WP_CONTENT_DIR . '/faulty.log', $what . "\n", FILE_APPEND | LOCK_EX);
    };
    foreach (['booking_created', 'booking_updated', 'booking_will_be_deleted', 'order_created', 'order_updated'] as $action) {
        add_action("latepoint_$action", static function ($record) use ($note, $action): void {
            global $wpdb;
            $note($action . ' ' . (is_object($record) ? $record->id : $record));
            $file = WP_CONTENT_DIR . '/fault';
            $fault = is_file($file) ? trim((string) file_get_contents($file)) : '';
            if ($fault === '' || strncmp($action, 'booking_', 8) !== 0) {
                return;
            }
            unlink($file);
            if (in_array($fault, ['transaction', 'transaction and exception'], true)) {
                $wpdb->query('START TRANSACTION');
                update_option('faulty', 'half done');
            }
            if (in_array($fault, ['autocommit', 'all'], true)) {
                $wpdb->query('SET autocommit = 0');
            }
            if (in_array($fault, ['tables', 'all'], true)) {
                $wpdb->query("LOCK TABLES $wpdb->users READ");
            }
            $messages = ['transaction and exception' => 'away', 'bytes' => "\xff\xfe bad", 'long' => str_repeat('not this one ', 16000)];
            if (isset($messages[$fault])) {
                throw new RuntimeException($messages[$fault]);
            }
        });
    }
    add_action('wordpress_test_mail', static function ($to, $subject) use ($note): void {
        global $wpdb;
        $note('mail ' . $subject);
        $file = WP_CONTENT_DIR . '/mail-fault';
        if (is_file($file)) {
            unlink($file);
            $wpdb->query('START TRANSACTION');
        }
    }, 10, 2);
})();
