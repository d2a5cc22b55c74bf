<?php

/**
 * API keys. The server creates, changes and rolls them; a key can be revoked without it, because that may be urgent.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/** Reports whether keys can be stored: the server makes the table when it first starts. */
function keys_available(): bool
{
    return has_table(own_table('api_keys'));
}

/**
 * Returns all keys except calendars, which only the command line and the console manage, the newest first.
 *
 * @param int $id Only this one; 0 for all.
 */
function list_keys(int $id = 0): array
{
    global $wpdb;
    if (!keys_available()) {
        return [];
    }
    return $wpdb->get_results($wpdb->prepare(
        'SELECT id, name, kind, key_start, last_four, status, expires_at, last_used_at FROM ' . own_table('api_keys')
        . " WHERE kind <> 'calendar' AND %d IN (0, id) ORDER BY id DESC LIMIT 1000",
        $id
    ));
}

/** Returns the key with an id, or null. */
function find_key(int $id): ?object
{
    return $id > 0 ? (list_keys($id)[0] ?? null) : null;
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
 * Lets the server create a key, or roll one: create a new key with the terms of an old one, which stays valid for a while.
 *
 * @param int $old The key to roll; 0 for none.
 * @return array<string,mixed>|\WP_Error With secret, which is stored nowhere, and id, or the form with its errors.
 */
function make_key(array $form, int $old = 0)
{
    $answer = ask_server($old > 0 ? "/keys/$old/roll" : '/keys/new', $form);
    if (is_wp_error($answer) && $answer->get_error_code() === 'bookside_409') {
        return new \WP_Error('bookside_409', __('This form was already sent, and its key was shown then. If you did not copy it, revoke it and create another one.', 'bookside'));
    }
    if (!is_wp_error($answer) && isset($answer['secret'])) {
        /**
         * Fires after a key was created.
         *
         * @param int $id Of the key.
         */
        do_action('bookside_key_created', $answer['id']);
    }
    return $answer;
}

/**
 * Lets the server change the terms of a key. It takes effect at once, on every server of this database.
 *
 * @return array<string,mixed>|\WP_Error Empty, or the form with its errors.
 */
function restrict_key(int $id, array $form)
{
    $answer = ask_server("/keys/$id", $form);
    if (!is_wp_error($answer) && !isset($answer['fields'])) {
        /** Fires after the terms of a key were changed. */
        do_action('bookside_key_changed', $id);
    }
    return $answer;
}

function keys_missing(): \WP_Error
{
    return new \WP_Error(
        'bookside_tables',
        __('The tables of Bookside are missing. Its server creates them when it first starts: run "bookside serve".', 'bookside')
    );
}
