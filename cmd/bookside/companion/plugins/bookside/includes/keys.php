<?php

/**
 * API keys, in the table that the sidecar reads. Only a hash of a key is stored.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/** How long a hold lasts at most, in seconds. */
const LONGEST_HOLD = 1800;

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Returns a new secret: lp_live_ or lp_test_, 32 random characters, and a checksum of 6. */
function new_secret(string $kind): string
{
    $secret = 'lp_' . $kind . '_';
    for ($i = 0; $i < 32; $i++) {
        $secret .= BASE62[random_int(0, 61)];
    }
    return $secret . secret_checksum($secret);
}

/** Returns CRC-32 of a text in six digits of base 62. */
function secret_checksum(string $text): string
{
    $sum = (int) sprintf('%u', crc32($text));
    $digits = '';
    for ($i = 0; $i < 6; $i++) {
        $digits = BASE62[$sum % 62] . $digits;
        $sum = intdiv($sum, 62);
    }
    return $digits;
}

/** Returns what is stored of a secret. */
function hash_secret(string $secret): string
{
    return hash('sha256', $secret);
}

/** Reports whether keys can be stored: the sidecar makes the table when it first starts. */
function keys_available(): bool
{
    return has_table(own_table('api_keys'));
}

/** Returns all keys but calendars, which only the command line and the console manage, the newest first, as rows of the table without the hash. */
function list_keys(): array
{
    global $wpdb;
    if (!keys_available()) {
        return [];
    }
    return $wpdb->get_results(key_query() . ' ORDER BY id DESC LIMIT 1000');
}

/** Returns the key with an id, or null. */
function find_key(int $id): ?object
{
    global $wpdb;
    return keys_available() ? $wpdb->get_row($wpdb->prepare(key_query() . ' AND id = %d', $id)) : null;
}

function key_query(): string
{
    return 'SELECT ' . implode(', ', array_merge(limit_columns(), [
        'id', 'name', 'kind', 'key_start', 'last_four', 'permissions', 'networks', 'status', 'expires_at', 'requests_per_minute', 'requests_per_hour',
        'last_used_at', 'created_at',
    ])) . ' FROM ' . own_table('api_keys') . " WHERE kind <> 'calendar'";
}

/** Returns the columns that say what a key is limited to; none if the table is of an earlier version. */
function limit_columns(): array
{
    static $known = [];
    $table = own_table('api_keys');
    if (!isset($known[$table])) {
        $known[$table] = array_values(array_intersect(['agents', 'services', 'locations', 'mask_personal'], columns_of($table)));
    }
    return $known[$table];
}

/** Returns what a key, or a webhook, is limited to, for people; empty for most. */
function limit_texts(object $key): array
{
    $texts = [
        /* translators: %s: ids with names, such as 3 Ada, 4 Ben. */
        'agents' => __('agents %s', 'bookside'),
        /* translators: %s: ids with names, such as 3 Ada, 4 Ben. */
        'services' => __('services %s', 'bookside'),
        /* translators: %s: ids with names, such as 3 Ada, 4 Ben. */
        'locations' => __('locations %s', 'bookside'),
    ];
    $limits = [];
    foreach ($texts as $column => $text) {
        if (($key->$column ?? '') !== '') {
            $limits[] = sprintf($text, choices_text($column, $key->$column));
        }
    }
    if (!empty($key->mask_personal)) {
        $limits[] = __('personal data masked', 'bookside');
    }
    return $limits;
}

/** Returns active, revoked or expired. */
function key_status(object $key): string
{
    if ($key->status !== 'active') {
        return 'revoked';
    }
    return $key->expires_at !== null && $key->expires_at <= utc_now() ? 'expired' : 'active';
}

/** Returns the parts of a secret by which people tell a key from others. */
function masked_secret(object $key): string
{
    return $key->key_start === '' ? '' : $key->key_start . '…' . $key->last_four;
}

/**
 * Creates a key.
 *
 * @param array<string,mixed> $columns As parse_terms returns them, with name, kind and permissions.
 * @return array{0:string,1:int}|\WP_Error The secret, which is stored nowhere, and the id.
 */
function create_key(array $columns)
{
    global $wpdb;
    if (!keys_available()) {
        return keys_missing();
    }
    $secret = new_secret($columns['kind']);
    $row = array_merge(
        ['networks' => '', 'expires_at' => null, 'requests_per_minute' => null, 'requests_per_hour' => null],
        $columns,
        [
            'key_hash' => hash_secret($secret), 'key_start' => substr($secret, 0, 8), 'last_four' => substr($secret, -4), 'status' => 'active',
            'created_at' => utc_now(),
        ]
    );
    if (in_array('created_by', $wpdb->get_col('SHOW COLUMNS FROM ' . own_table('api_keys')), true)) { // which earlier versions lack
        $row['created_by'] = ltrim(wp_get_current_user()->user_login . ', WordPress', ', ');
    }
    $first = first_key_id();
    if ($wpdb->insert(own_table('api_keys'), $first > 0 ? $row + ['id' => $first] : $row) !== 1) {
        return database_failed();
    }
    $id = $first > 0 ? $first : (int) $wpdb->insert_id;
    /**
     * Fires after a key was created.
     *
     * @param int $id Of the key.
     */
    do_action('bookside_key_created', $id);
    return [$secret, $id];
}

/**
 * Returns the id of the first key of a table that was emptied: one to which our other tables attribute nothing. Otherwise it is 0, and the
 * database chooses. The sidecar has the same list, in wpdb/first_id.go.
 */
function first_key_id(): int
{
    global $wpdb;
    if ($wpdb->get_var('SELECT id FROM ' . own_table('api_keys') . ' LIMIT 1') !== null) {
        return 0;
    }
    $last = 0;
    $columns = ['key_records' => 'key_id', 'webhooks' => 'key_id', 'holds' => 'key_id', 'changes' => 'actor_id', 'change_inbox' => 'actor_id'];
    foreach ($columns as $name => $column) {
        $table = own_table($name);
        if (has_table($table)) {
            $last = max($last, (int) $wpdb->get_var("SELECT MAX($column) FROM $table" . ($column === 'actor_id' ? " WHERE origin = 'api'" : '')));
        }
    }
    return $last > 0 ? $last + 1 : 0;
}

/**
 * Changes the terms of a key. It takes effect at once, on every server of this database.
 *
 * @param array<string,mixed> $columns As parse_terms returns them.
 * @return true|\WP_Error
 */
function restrict_key(int $id, array $columns)
{
    global $wpdb;
    unset($columns['kind']); // a key keeps its kind
    if ($columns && $wpdb->update(own_table('api_keys'), $columns, ['id' => $id, 'status' => 'active']) === false) {
        return database_failed();
    }
    /** Fires after the terms of a key were changed. */
    do_action('bookside_key_changed', $id);
    return true;
}

/**
 * Revokes a key at once, on every server of this database.
 *
 * @return true|\WP_Error
 */
function revoke_key(int $id)
{
    global $wpdb;
    if ($wpdb->update(own_table('api_keys'), ['status' => 'revoked'], ['id' => $id]) === false) {
        return database_failed();
    }
    /** Fires after a key was revoked. */
    do_action('bookside_key_revoked', $id);
    return true;
}

/**
 * Makes a new key with the terms of an old one, which stays valid for a while, so that its clients can change over.
 * Webhooks of the old key pass to the new one; holds only if the old key may end before they do.
 *
 * @param int $hours How long the old key stays valid; 0 revokes it now.
 * @return array{0:string,1:int}|\WP_Error The secret and the id of the new key.
 */
function roll_key(object $old, int $hours)
{
    if (key_status($old) !== 'active') {
        return new \WP_Error('bookside_ended', __('This key has expired. Change its last day first.', 'bookside'));
    }
    return in_transaction(function () use ($old, $hours) {
        $end = utc_now($hours * HOUR_IN_SECONDS);
        global $wpdb;
        $row = $wpdb->get_row($wpdb->prepare('SELECT * FROM ' . own_table('api_keys') . ' WHERE id = %d', $old->id), ARRAY_A);
        if (!$row) {
            return database_failed();
        }
        $columns = [];
        $terms = ['name', 'kind', 'permissions', 'networks', 'expires_at', 'requests_per_minute', 'requests_per_hour'];
        foreach (array_merge($terms, limit_columns()) as $column) {
            $columns[$column] = $row[$column];
        }
        $created = create_key($columns);
        if (is_wp_error($created)) {
            return $created;
        }
        if ($hours < 1) {
            $done = revoke_key((int) $old->id);
        } elseif ($old->expires_at === null || $old->expires_at > $end) {
            $done = restrict_key((int) $old->id, ['expires_at' => $end]);
        } else {
            $done = true;
        }
        if (is_wp_error($done)) {
            return $done;
        }
        $passed = ['webhooks'];
        if ($hours < 1 || ($old->expires_at !== null && $old->expires_at < utc_now(LONGEST_HOLD))) {
            $passed[] = 'holds';
        }
        foreach ($passed as $name) {
            $table = own_table($name);
            if (has_table($table) && $wpdb->update($table, ['key_id' => $created[1]], ['key_id' => (int) $old->id]) === false) {
                return database_failed();
            }
        }
        // What the old key made is what the new one made, too; the old one may still be used.
        $records = own_table('key_records');
        $copied = !has_table($records) ? 0 : $wpdb->query($wpdb->prepare(
            "INSERT INTO $records (key_id, resource, record_id, made, email, phone, created_at)"
                . " SELECT %d, resource, record_id, made, email, phone, created_at FROM $records WHERE key_id = %d",
            $created[1],
            $old->id
        ));
        return $copied === false ? database_failed() : $created;
    });
}

/**
 * Records the mark of a form, and reports whether it is the first time: a form that is sent again, by reloading the response, must not act again.
 */
function spend_form(string $mark): bool
{
    global $wpdb;
    $table = own_table('admin_tokens');
    if ($mark === '' || !has_table($table)) {
        return false;
    }
    $wpdb->query($wpdb->prepare("DELETE FROM $table WHERE expires_at <= %s", utc_now()));
    return 1 === $wpdb->query($wpdb->prepare(
        "INSERT IGNORE INTO $table (token_hash, purpose, expires_at) VALUES (%s, 'form', %s)",
        hash_secret($mark),
        utc_now(HOUR_IN_SECONDS)
    ));
}

function keys_missing(): \WP_Error
{
    return new \WP_Error(
        'bookside_tables',
        __('The tables of Bookside are missing. They are made when its server first starts: run "bookside serve".', 'bookside')
    );
}
