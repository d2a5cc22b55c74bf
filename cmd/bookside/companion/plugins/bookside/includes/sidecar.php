<?php

/**
 * The sidecar's state, on this machine or in this network, and at the site's own API address. Nothing else is ever contacted.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/**
 * Asks the sidecar whether it is ready.
 *
 * @return array{state:string,text:string,companion:string,rating:array} The state is ready, waiting (it answers, but cannot serve), foreign (it serves another site),
 *     away or unknown (no address is set); the text is what it said, for people; the companion is the version that it brings, '' if it does not say; the rating is that of the
 *     work of this site, see work.php.
 */
function sidecar_state(): array
{
    static $asked = [];
    $address = settings()['admin'];
    if (!isset($asked[$address])) {
        $asked[$address] = ask_sidecar($address);
    }
    return $asked[$address];
}

function ask_sidecar(string $address): array
{
    if ($address === '') {
        return ['state' => 'unknown', 'text' => __('No address is set.', 'bookside'), 'companion' => '', 'rating' => []];
    }
    $response = wp_remote_get(reachable($address) . '/readyz?verbose', ['timeout' => 3, 'redirection' => 0, 'sslverify' => true, 'limit_response_size' => 100000]);
    if (is_wp_error($response)) {
        return ['state' => 'away', 'text' => $response->get_error_message(), 'companion' => '', 'rating' => []];
    }
    $body = json_decode(wp_remote_retrieve_body($response), true);
    if (!is_array($body) || !is_string($body['status'] ?? null)) {
        return ['state' => 'away', 'text' => __('Something else answers at its address.', 'bookside'), 'companion' => '', 'rating' => []];
    }
    $parts = [];
    foreach (['database', 'platform', 'writes'] as $part) {
        if (isset($body[$part]) && is_string($body[$part]) && !in_array($body[$part], ['', 'ok', 'unknown'], true)) {
            $parts[] = $body[$part];
        }
    }
    $ready = wp_remote_retrieve_response_code($response) === 200;
    $foreign = foreign($body);
    return [
        'state' => $foreign ? 'foreign' : ($ready ? 'ready' : 'waiting'), 'text' => $parts ? implode('; ', $parts) : $body['status'],
        'companion' => is_string($body['companion'] ?? null) ? $body['companion'] : '',
        'rating' => $foreign ? [] : ratings_in($body),
    ];
}

/** Returns an address of the server as WordPress reaches it: it may be told to contact nobody, which excepts localhost, but not 127.0.0.1. */
function reachable(string $address): string
{
    return (string) preg_replace('#^(https?://)127\.0\.0\.1(?=[:/]|$)#', '$1localhost', $address);
}

/** Returns what to do if the server has no address. */
function no_address_text(): string
{
    return __('Under LatePoint, API, Settings, enter the address of its administration: "admin.listen" in its configuration.', 'bookside');
}

/** Returns what to do if the server does not answer. */
function away_text(string $problem): string
{
    return sprintf(
        /* translators: 1: an address. 2: an error message. */
        __('It was asked at %1$s: %2$s. Start it with "systemctl start bookside", or correct the address under LatePoint, API, Settings.', 'bookside'),
        settings()['admin'],
        rtrim($problem, '.')
    );
}

/**
 * Returns the fingerprint that tells this site from all others, copies included, as the API server computes it (adapter/session/fingerprint.go); '' before it has run.
 *
 * It is computed from a random id, so it reveals nothing about the site.
 */
function fingerprint(): string
{
    global $wpdb;
    if (!has_table(own_table('change_positions'))) {
        return '';
    }
    $row = $wpdb->get_row('SELECT signature, DATABASE() AS name FROM ' . own_table('change_positions') . " WHERE name = 'site'");
    if (!$row || $row->signature === '') {
        return '';
    }
    // As stored: constants and filters may differ.
    $url = (string) $wpdb->get_var("SELECT option_value FROM $wpdb->options WHERE option_name = 'siteurl'");
    return substr(hash('sha256', implode("\n", [$row->signature, $url, strtolower($row->name), $wpdb->options])), 0, 16);
}

/** Reports whether what a server said is about another site. An earlier version, and a server without its tables, do not tell. */
function foreign(array $body): bool
{
    $told = $body['fingerprint'] ?? '';
    $own = fingerprint();
    return is_string($told) && $told !== '' && $own !== '' && !hash_equals($own, $told);
}

/**
 * Sends a request to an address of this site.
 *
 * @return array{0:string,1:array} The status, or why there was none, and the object that the body has, [] if it has none.
 */
function try_address(string $url): array
{
    $response = wp_remote_get($url, [
        'timeout' => 3, 'limit_response_size' => MB_IN_BYTES, 'headers' => ['Cache-Control' => 'no-cache'],
        'sslverify' => (bool) apply_filters('https_local_ssl_verify', false), // as in WordPress's requests to itself
    ]);
    if (is_wp_error($response)) {
        return [$response->get_error_message(), []];
    }
    $body = json_decode(wp_remote_retrieve_body($response), true);
    return [(string) wp_remote_retrieve_response_code($response), is_array($body) ? $body : []];
}

/** Returns the address under which clients reach the API. */
function api_url(): string
{
    return rest_url('latepoint-api/v1');
}
