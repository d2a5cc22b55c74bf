<?php

/**
 * Requests to the API server, which has the rules for keys and knows webhooks, changes and overlaps. The pages only show its responses.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/**
 * Requests the data of a page, or sends a form. The request is signed with the secret that both read from a table of ours, and valid
 * once, within a minute and for this site; the server checks it in adapter/signed. The response is signed too, unless it is a refusal.
 *
 * @param array<string,string>|null $form What was typed; null for a question.
 * @return array<string,mixed>|\WP_Error What the server says. A form that it does not accept has fields with their errors. The data of an error
 *     has whether the request may have been sent.
 */
function ask_server(string $path, ?array $form = null, int $timeout = 10)
{
    $address = settings()['admin'];
    if ($address === '') {
        return new \WP_Error('bookside_server', no_address_text());
    }
    $secret = shared_secret();
    $site = fingerprint();
    if ($secret === '' && keys_available()) { // an earlier version's account may not create tables
        return new \WP_Error('bookside_tables', __('Tables of Bookside are missing. Run "bookside check" on the server, which says how to create them.', 'bookside'));
    }
    if ($secret === '' || $site === '') {
        return keys_missing();
    }
    $method = $form === null ? 'GET' : 'POST';
    $target = '/wordpress' . $path;
    $body = $form === null ? '' : http_build_query(['person' => (string) wp_get_current_user()->user_login] + $form, '', '&');
    $at = time();
    $nonce = bin2hex(random_bytes(16));
    $signed = implode("\n", ['bookside 1', 'server', $site, $method, $target, hash('sha256', $body), $at, $nonce]);
    $response = wp_remote_request(reachable($address) . $target, [
        'method' => $method, 'body' => $body, 'timeout' => $timeout, 'redirection' => 0, 'sslverify' => true, 'limit_response_size' => 4 * MB_IN_BYTES,
        'headers' => [
            'X-Bookside-Signature' => "$at.$nonce." . hash_hmac('sha256', $signed, $secret),
            'Content-Type' => 'application/x-www-form-urlencoded',
        ],
    ]);
    if (is_wp_error($response)) {
        $sent = !preg_match('/cURL error [67]:/', $response->get_error_message()); // no such host, no connection
        return new \WP_Error('bookside_server', away_text($response->get_error_message()), ['sent' => $sent]);
    }
    $status = (int) wp_remote_retrieve_response_code($response);
    $text = wp_remote_retrieve_body($response);
    $answer = json_decode($text, true);
    $ours = hash_hmac('sha256', implode("\n", ['bookside 1 answer', $nonce, $status, hash('sha256', $text)]), $secret);
    $signature = wp_remote_retrieve_header($response, 'X-Bookside-Signature');
    if (is_array($answer) && is_string($signature) && hash_equals($ours, $signature) && ($status === 200 || isset($answer['fields']))) {
        return $answer;
    }
    if (!is_array($answer) || !is_string($answer['message'] ?? null)) {
        return new \WP_Error('bookside_server', away_text(__('Something else answers at its address, or another version of the server.', 'bookside')));
    }
    return new \WP_Error('bookside_' . $status, said($answer['message']));
}

/**
 * Requests the data of a page that older servers do not have.
 *
 * @param array<string,int|string> $parameters Of the address; empty ones are left out.
 * @return array<string,mixed>|\WP_Error
 */
function ask_newer_server(string $path, array $parameters)
{
    $query = http_build_query(array_filter($parameters), '', '&');
    $answer = ask_server($query === '' ? $path : "$path?$query");
    if (is_wp_error($answer) && $answer->get_error_code() === 'bookside_404') {
        return new \WP_Error('bookside_404', __('The server is older than this plugin, and does not have this page. Update it.', 'bookside'));
    }
    return $answer;
}

/** Returns the secret that WordPress and the server share. Whoever of them needs it first makes it: the primary key decides. '' if there is no table. */
function shared_secret(): string
{
    global $wpdb;
    $table = own_table('secrets');
    if (!has_table($table)) {
        return '';
    }
    $stored = "SELECT secret FROM $table WHERE name = 'wordpress'";
    $secret = (string) $wpdb->get_var($stored);
    if ($secret === '') {
        $wpdb->query($wpdb->prepare("INSERT IGNORE INTO $table (name, secret, created_at) VALUES ('wordpress', %s, %s)", bin2hex(random_bytes(32)), utc_now()));
        $secret = (string) $wpdb->get_var($stored);
    }
    return $secret;
}

/** Returns a text of the server in the language of the site. Those of its declarations are among the texts for translations. */
function said(string $text): string
{
    return $text === '' ? '' : translate($text, 'bookside'); // phpcs:ignore -- the server has the text
}

/**
 * Returns a sentence that the server put together, such as an error, in the language of the site: by the longest text in
 * which something in the place of each %s makes it, as on the console.
 */
function said_with_values(string $sentence): string
{
    [$best, $values] = ['', []];
    foreach (said($sentence) === $sentence ? get_translations_for_domain('bookside')->entries : [] as $entry) {
        $format = (string) $entry->singular;
        $pattern = '/^' . str_replace('%s', '(.+?)', preg_quote($format, '/')) . '$/Dsu';
        if (strlen($format) > max(12, strlen($best)) && strpos($format, '%s') !== false && preg_match($pattern, $sentence, $found)) {
            [$best, $values] = [$format, array_map(__NAMESPACE__ . '\\said', array_slice($found, 1))];
        }
    }
    return $best === '' ? said($sentence) : vsprintf(said($best), $values);
}
