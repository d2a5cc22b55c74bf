<?php

/**
 * Where LatePoint and Bookside hold data of a person.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/** Returns the customers with an e-mail address, or of the WordPress user with it. */
function customers_of(string $email): array
{
    global $wpdb;
    $table = platform_table('customers');
    if ($email === '' || !has_table($table)) {
        return [];
    }
    $user = get_user_by('email', $email);
    return $wpdb->get_results($wpdb->prepare(
        "SELECT * FROM $table WHERE email = %s OR (wordpress_user_id = %d AND wordpress_user_id <> 0) ORDER BY id LIMIT 1000",
        $email,
        $user ? $user->ID : 0
    ));
}

/**
 * Returns the ids of a customer's records: bookings, orders, order items, and the bookings of others in the orders.
 *
 * @return array{customer:int[],booking:int[],order:int[],order_item:int[]}
 */
function records_of(int $customer): array
{
    global $wpdb;
    $orders = id_list($wpdb->get_col($wpdb->prepare('SELECT id FROM ' . platform_table('orders') . ' WHERE customer_id = %d ORDER BY id', $customer)));
    $bookings = id_list($wpdb->get_col($wpdb->prepare('SELECT id FROM ' . platform_table('bookings') . ' WHERE customer_id = %d ORDER BY id', $customer)));
    $items = ids_where('order_items', 'order_id', $orders);
    return ['customer' => [$customer], 'booking' => $bookings, 'order' => $orders, 'order_item' => $items];
}

/** Returns the ids of rows with some values in a column of numbers. */
function ids_where(string $table, string $column, array $values): array
{
    return array_map('intval', wp_list_pluck(rows_where($table, $column, $values, 'id'), 'id'));
}

/** Returns rows of a table of LatePoint with some values in a column of numbers; none if the table does not exist. */
function rows_where(string $table, string $column, array $values, string $columns = '*'): array
{
    global $wpdb;
    $name = platform_table($table);
    if (!$values || !has_table($name)) {
        return [];
    }
    $rows = [];
    foreach (array_chunk($values, 1000) as $chunk) {
        $marks = implode(', ', array_fill(0, count($chunk), '%d'));
        $rows = array_merge($rows, $wpdb->get_results($wpdb->prepare("SELECT $columns FROM $name WHERE $column IN ($marks) ORDER BY id", ...$chunk)));
    }
    return $rows;
}

function id_list(array $values): array
{
    return array_map('intval', $values);
}

/** Returns the rows of a meta table of some records. */
function metas_of(string $kind, array $ids): array
{
    return rows_where($kind . '_meta', 'object_id', $ids);
}

/** Returns the activities about a customer or the customer's records. */
function activities_of(array $records): array
{
    $rows = [];
    foreach (['customer', 'booking', 'order', 'order_item'] as $kind) {
        foreach (rows_where('activities', $kind . '_id', $records[$kind]) as $row) {
            $rows[(int) $row->id] = $row;
        }
    }
    ksort($rows);
    return array_values($rows);
}

/** Returns the jobs of LatePoint's processes for a customer or the customer's records. */
function jobs_of(array $records): array
{
    global $wpdb;
    $table = platform_table('process_jobs');
    $rows = [];
    if (!has_table($table)) {
        return $rows;
    }
    foreach ($records as $kind => $ids) {
        foreach (array_chunk($ids, 1000) as $chunk) {
            $marks = implode(', ', array_fill(0, count($chunk), '%d'));
            $rows = array_merge($rows, $wpdb->get_results($wpdb->prepare(
                "SELECT * FROM $table WHERE object_model_type = %s AND object_id IN ($marks) ORDER BY id",
                ...array_merge([$kind], $chunk)
            )));
        }
    }
    return $rows;
}

/** Returns the codes that were sent to an address or a telephone number for logging in. */
function codes_of(string $email, string $phone): array
{
    global $wpdb;
    $table = platform_table('customer_otp_codes');
    if (!has_table($table)) {
        return [];
    }
    return $wpdb->get_results($wpdb->prepare("SELECT * FROM $table WHERE contact_value IN (%s, %s) ORDER BY id", $email, $phone === '' ? $email : $phone));
}

/** Returns the mails of the sidecar to a person, or about one. */
function mails_of(string $email): array
{
    global $wpdb;
    $table = own_table('outbox');
    if (!has_table($table)) {
        return [];
    }
    $texts = array_intersect(['subject', 'content', 'calendar'], columns_of($table));
    $conditions = implode(' OR ', array_map(fn($column) => "$column LIKE %s", $texts));
    $like = '%' . $wpdb->esc_like($email) . '%';
    $mails = $wpdb->get_results($wpdb->prepare(
        "SELECT * FROM $table WHERE address = %s OR $conditions ORDER BY id",
        ...array_merge([$email], array_fill(0, count($texts), $like))
    ));
    return array_values(array_filter($mails, function ($mail) use ($email, $texts) {
        $about = array_filter($texts, fn($column) => names_address((string) $mail->$column, $email));
        return strcasecmp(trim($mail->address), $email) === 0 || $about;
    }));
}

/** Reports whether a text has an e-mail address, and not merely one that begins or ends like it: ann@site.test is not in joann@site.test. */
function names_address(string $text, string $email): bool
{
    return (bool) preg_match('/(?<![\p{L}\p{N}._%+-])(?<![\p{L}\p{N}]\')' . preg_quote($email, '/') . '(?!-?[\p{L}\p{N}]|\.[\p{L}\p{N}])/iu', $text);
}

/** Returns the responses about a person that the sidecar keeps for a day, in case a request is repeated. */
function responses_of(string $email): array
{
    global $wpdb;
    $table = own_table('idempotency');
    if (!has_table($table)) {
        return [];
    }
    $like = '%' . $wpdb->esc_like('"' . $email . '"') . '%';
    return $wpdb->get_results($wpdb->prepare(
        "SELECT id, status, CONVERT(answer USING utf8mb4) AS answer, created_at FROM $table WHERE status > 0 AND CONVERT(answer USING utf8mb4) LIKE %s ORDER BY id",
        $like
    ));
}
