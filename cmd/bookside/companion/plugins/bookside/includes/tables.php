<?php

/**
 * The tables of Bookside and of LatePoint.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/** Returns the full name of a table of Bookside, such as api_keys, for SQL. */
function own_table(string $name): string
{
    global $wpdb;
    return $wpdb->prefix . 'bookside_' . $name;
}

/** Returns the full name of a table of LatePoint, such as bookings, for SQL. */
function platform_table(string $name): string
{
    global $wpdb;
    return $wpdb->prefix . 'latepoint_' . $name;
}

/** Reports whether a table exists. The answer is kept for the request. */
function has_table(string $table): bool
{
    global $wpdb;
    static $known = [];
    $key = $wpdb->dbname . ' ' . $table;
    if (!isset($known[$key])) {
        $known[$key] = $wpdb->get_var($wpdb->prepare('SHOW TABLES LIKE %s', $wpdb->esc_like($table))) !== null; // maybe in lower case
    }
    return $known[$key];
}

/** Returns the names of a table's columns; none if it does not exist. */
function columns_of(string $table): array
{
    global $wpdb;
    // Not SQL from a caller: the name comes from own_table or platform_table.
    return has_table($table) ? $wpdb->get_col("SHOW COLUMNS FROM `$table`") : [];
}

/**
 * Runs $use in a transaction, which is rolled back if $use returns a WP_Error or a statement fails.
 *
 * @param callable(): mixed $use Does the work with $wpdb.
 * @return mixed What $use returns, or a WP_Error.
 */
function in_transaction(callable $use)
{
    global $wpdb;
    $wpdb->query('START TRANSACTION');
    $wpdb->last_error = '';
    try {
        $result = $use();
    } catch (\Throwable $failure) {
        $wpdb->query('ROLLBACK');
        throw $failure;
    }
    if (is_wp_error($result)) {
        $wpdb->query('ROLLBACK');
        return $result;
    }
    if ($wpdb->query('COMMIT') === false) {
        return database_failed();
    }
    return $result;
}

/** Returns the error of a statement that failed. What the database said is in WordPress's own log. */
function database_failed(): \WP_Error
{
    return new \WP_Error('bookside_database', __('The database did not accept the change. Please try again.', 'bookside'));
}

/** Returns the time now as our tables have it: in UTC. */
function utc_now(int $seconds_later = 0): string
{
    return gmdate('Y-m-d H:i:s', time() + $seconds_later);
}
