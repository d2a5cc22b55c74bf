<?php

/**
 * What the sidecar says about itself, on this machine or in this network, and at the site's own address of the API. Nothing else is ever contacted.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/**
 * Asks the sidecar whether it is ready.
 *
 * @return array{state:string,text:string,companion:string} The state is ready, waiting (it answers, but cannot serve), away or unknown (no address is
 *     set); the text is what it said, for people; the companion is the version that it brings, '' if it does not say.
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
        return ['state' => 'unknown', 'text' => __('No address is set.', 'bookside'), 'companion' => ''];
    }
    // WordPress may be told to contact nobody; localhost is excepted, 127.0.0.1 is not.
    $url = preg_replace('#^(https?://)127\.0\.0\.1(?=[:/]|$)#', '$1localhost', $address) . '/readyz';
    $response = wp_remote_get($url, ['timeout' => 3, 'redirection' => 0, 'sslverify' => true, 'limit_response_size' => 10000]);
    if (is_wp_error($response)) {
        return ['state' => 'away', 'text' => $response->get_error_message(), 'companion' => ''];
    }
    $body = json_decode(wp_remote_retrieve_body($response), true);
    if (!is_array($body) || !is_string($body['status'] ?? null)) {
        return ['state' => 'away', 'text' => __('Something else answers at its address.', 'bookside'), 'companion' => ''];
    }
    $parts = [];
    foreach (['database', 'platform', 'writes'] as $part) {
        if (isset($body[$part]) && is_string($body[$part]) && !in_array($body[$part], ['', 'ok', 'unknown'], true)) {
            $parts[] = $body[$part];
        }
    }
    $ready = wp_remote_retrieve_response_code($response) === 200;
    return [
        'state' => $ready ? 'ready' : 'waiting', 'text' => $parts ? implode('; ', $parts) : $body['status'],
        'companion' => is_string($body['companion'] ?? null) ? $body['companion'] : '',
    ];
}

/** Asks at an address of this site and returns the status, or why there was none. */
function try_address(string $url): string
{
    $response = wp_remote_get($url, [
        'timeout' => 3, 'limit_response_size' => 1000, 'headers' => ['Cache-Control' => 'no-cache'],
        'sslverify' => (bool) apply_filters('https_local_ssl_verify', false), // as WordPress asks itself
    ]);
    return is_wp_error($response) ? $response->get_error_message() : (string) wp_remote_retrieve_response_code($response);
}

/** Returns the address under which clients reach the API. */
function api_url(): string
{
    return rest_url('latepoint-api/v1');
}
