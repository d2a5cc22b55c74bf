<?php

/**
 * Plugin Name: Meeting
 * Description: An extension for tests that behaves as add-ons for video meetings do: it makes a meeting of a new booking, keeps its link with the booking, and
 *     adds it to messages. It also notes the mails of the site, and dies where the test says.
 */

defined('ABSPATH') || exit;

(static function (): void {
    function meeting_note(string $what): void
    {
        file_put_contents(WP_CONTENT_DIR . '/meetings.jsonl', $what . "\n", FILE_APPEND | LOCK_EX);
        $die = WP_CONTENT_DIR . '/meeting-dies';
        if (is_file($die) && trim((string) file_get_contents($die)) === strtok($what, ' ')) {
            unlink($die);
            posix_kill(getmypid(), 9);
        }
    }

    $link = static function ($booking) {
        return OsMetaHelper::get_booking_meta_by_key('meeting_link', $booking->id, '');
    };
    $make = static function ($booking): void {
        OsMetaHelper::save_booking_meta_by_key('meeting_link', 'https://meet.example/' . $booking->id, $booking->id);
    };
    add_action('latepoint_booking_created', static function ($booking) use ($make): void {
        meeting_note('created ' . $booking->id);
        $make($booking);
    });
    add_action('latepoint_booking_updated', static function ($booking) use ($make): void {
        meeting_note('updated ' . $booking->id);
        $make($booking);
    });
    add_filter('latepoint_replace_booking_vars', static function ($text, $booking) use ($link) {
        return str_replace('{{meeting_link}}', $link($booking), $text);
    }, 10, 2);
    add_action('wordpress_test_mail', static function ($to, $subject, $content): void {
        meeting_note('mail ' . json_encode([$to, $subject, $content]));
    }, 10, 3);
})();
