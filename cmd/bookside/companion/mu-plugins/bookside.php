<?php

/**
 * Plugin Name: Bookside companion
 * Description: Makes WordPress take the locks of Bookside, the server of the booking API, and enter its changes into the journal.
 * Version: 0.2.0
 * Requires at least: 6.1
 * Requires PHP: 7.4
 * Author: The Bookside authors
 * License: GPL-2.0-or-later
 * License URI: https://www.gnu.org/licenses/gpl-2.0.html
 * Text Domain: bookside
 *
 * Everything here works without the server: the locks need the database alone, changes stay in the inbox of the
 * journal, and requests that cannot be forwarded are left to WordPress.
 *
 * @package Bookside
 */

defined('ABSPATH') || exit;

define('BOOKSIDE_COMPANION_VERSION', '0.2.0');

/**
 * Returns the settings, which are stored in the option bookside_companion:
 * staff_overbooking (whether staff may book what is occupied), jobs (whether WordPress's cron runs LatePoint's
 * jobs) and forward (address of the server that gets requests to the API; '' for none).
 *
 * @return array{staff_overbooking:bool,jobs:bool,forward:string}
 */
function bookside_companion_settings(): array
{
    $stored = get_option('bookside_companion', []);
    $stored = is_array($stored) ? $stored : [];
    return [
        'staff_overbooking' => (bool) ($stored['staff_overbooking'] ?? true),
        'jobs' => (bool) ($stored['jobs'] ?? false),
        'forward' => is_string($stored['forward'] ?? '') ? rtrim($stored['forward'] ?? '', '/') : '',
    ];
}

/**
 * Returns the failures since they were last cleared, by what failed: payment, lock, journal, forms, jobs, forward, ask or events.
 *
 * @return array<string,array{count:int,at:int,message:string}> With the time (Unix) and the message of the last one.
 */
function bookside_companion_failures(): array
{
    $failures = get_option('bookside_companion_failures', []);
    return is_array($failures) ? $failures : [];
}

/** Forgets the failures. */
function bookside_companion_clear_failures(): void
{
    delete_option('bookside_companion_failures');
}

/** Leaves word for "bookside check" that the companion is loaded, once a day. */
function bookside_companion_seen(): void
{
    [$version, $at] = explode(' ', get_option('bookside_companion_seen', '') . ' 0');
    if ($version !== BOOKSIDE_COMPANION_VERSION || abs(time() - (int) $at) > DAY_IN_SECONDS) { // a clock may have been wrong
        update_option('bookside_companion_seen', BOOKSIDE_COMPANION_VERSION . ' ' . time());
        add_option('bookside_companion', []); // a missing option costs each page a query
    }
}

/**
 * Says what was thrown, where, and as much of its message as helps: those of others' code may hold personal data and secrets, so that
 * addresses but for a host's name, texts in quotes, long numbers and tokens are left out.
 */
function bookside_companion_describe(\Throwable $thrown): string
{
    $file = str_replace([wp_normalize_path(WP_CONTENT_DIR) . '/', wp_normalize_path(ABSPATH)], '', wp_normalize_path($thrown->getFile()));
    $masks = [
        '~\b([a-z][a-z0-9+.-]*://)(?:[^/\s@]*@)?([^/\s?#]+)\S*~i' => '$1$2', // of a URL, the host stays
        '/\S+@\S+/' => '…',
        '/(["\'`])(?=[^"\'`]*[\s\d])[^"\'`]*\1/' => '…', // not a mere name, such as that of a function
        '/\+?\d[\d\s().-]{3,}\d/' => '…',
        '/\b(?=[\w.+\/=-]*\d)(?=[\w.+\/=-]*[a-z])[\w.+\/=-]{16,}/i' => '…',
    ];
    $letters = htmlspecialchars_decode(htmlspecialchars($thrown->getMessage(), ENT_NOQUOTES | ENT_IGNORE, 'UTF-8'), ENT_NOQUOTES); // without other bytes
    $message = (string) preg_replace(array_keys($masks), array_values($masks), $letters);
    return sprintf('%s in %s:%d: %s', strtok(get_class($thrown), "\0"), $file, $thrown->getLine(), mb_substr($message, 0, 80));
}

/** Returns as much of a text as a column can hold: WordPress stores nothing of a text that is too long or has bytes that are no letters. */
function bookside_companion_storable(string $text, string $table, string $column): string
{
    global $wpdb;
    $quiet = $wpdb->suppress_errors();
    $storable = $wpdb->strip_invalid_text_for_column($table, $column, $text);
    $wpdb->suppress_errors($quiet);
    return is_string($storable) ? $storable : '';
}

/**
 * Ends a transaction and locks of tables that others' code has left on WordPress's connection: until then, nothing that is marked is stored.
 * Returns what it left, '' for nothing.
 */
function bookside_companion_end_transaction(string $how): string
{
    global $wpdb;
    $quiet = $wpdb->suppress_errors();
    // Without a transaction, a savepoint is gone at once. MySQL has no variable for it.
    $left = $wpdb->query('SAVEPOINT bookside') !== false && $wpdb->query('RELEASE SAVEPOINT bookside') !== false ? ['a transaction open'] : [];
    $locked = $wpdb->query("SELECT 1 FROM `{$wpdb->prefix}bookside_locks` LIMIT 0") === false && strpos($wpdb->last_error, 'LOCK TABLES') !== false;
    $wpdb->suppress_errors($quiet);
    if ($left !== []) {
        $wpdb->query($how);
        $wpdb->query('SET autocommit = 1');
    }
    $wpdb->query('UNLOCK TABLES');
    return implode(' and ', array_merge($left, $locked ? ['tables locked'] : []));
}

/** Counts a failure. What failed must not break the request of a visitor, so it is shown in wp-admin only. */
function bookside_companion_failed(string $what, string $message): void
{
    global $wpdb;
    try {
        $failures = bookside_companion_failures();
        $failures[$what] = [
            'count' => (int) ($failures[$what]['count'] ?? 0) + 1,
            'at' => time(),
            'message' => mb_substr(bookside_companion_storable($message, $wpdb->options, 'option_value'), 0, 1000),
        ];
        update_option('bookside_companion_failures', $failures, false);
    } catch (\Throwable $ignored) {
        return; // the database is down, which WordPress reports itself
    }
}

require_once __DIR__ . '/bookside/gate.php';
require_once __DIR__ . '/bookside/forward.php';
BooksideForward::run(); // a forwarded request needs nothing else

require_once __DIR__ . '/bookside/lock.php';
require_once __DIR__ . '/bookside/holds.php';
require_once __DIR__ . '/bookside/assets.php';
require_once __DIR__ . '/bookside/slots.php';
require_once __DIR__ . '/bookside/journal.php';
require_once __DIR__ . '/bookside/forms.php';
require_once __DIR__ . '/bookside/jobs.php';
require_once __DIR__ . '/bookside/users.php';
require_once __DIR__ . '/bookside/extensions.php';
require_once __DIR__ . '/bookside/ask.php';
require_once __DIR__ . '/bookside/events.php';
require_once __DIR__ . '/bookside/decisions.php';

add_action('init', 'bookside_companion_seen');
(static function (): void {
    $slots = new BooksideSlots();
    $slots->register();
    (new BooksideJournal($slots))->register();
    BooksideForms::register();
    BooksideJobs::register();
    BooksideUsers::register();
    BooksideExtensions::register();
    BooksideEvents::register();
    BooksideDecisions::register();
    BooksideAsk::register();
})();
