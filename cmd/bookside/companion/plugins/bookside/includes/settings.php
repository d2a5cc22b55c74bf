<?php

/**
 * The settings of the companion, which the must-use plugin reads.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

const OPTION = 'bookside_companion';

/** Returns the settings: staff_overbooking, jobs, forward (address of the API, '' for none) and admin (address of its administration). */
function settings(): array
{
    $stored = get_option(OPTION, []);
    $admin = is_array($stored) ? $stored['admin'] ?? null : null;
    return bookside_companion_settings() + ['admin' => is_string($admin) ? $admin : 'http://localhost:8081'];
}

/**
 * Returns what is stored for settings as typed. A wrong address is left as it was, and WordPress says so.
 *
 * @param mixed $typed
 */
function checked_settings($typed): array
{
    $settings = settings();
    foreach (['staff_overbooking', 'jobs'] as $switch) {
        $settings[$switch] = !empty($typed[$switch]);
    }
    foreach (may_set_addresses() ? ['forward', 'admin'] : [] as $field) {
        $address = rtrim(trim((string) ($typed[$field] ?? '')), '/');
        if ($address !== '' && !valid_address($address)) {
            add_settings_error(OPTION, $field, __('Enter an address such as http://127.0.0.1:8080.', 'bookside'));
        } elseif ($field === 'forward' && preg_match('~/(?:v1|wp-json)(?:/|$)~', (string) wp_parse_url($address, PHP_URL_PATH))) {
            add_settings_error(OPTION, $field, __('Enter the address of the server alone: the path of each request is added to it.', 'bookside'));
        } else {
            $settings[$field] = $address;
        }
    }
    return $settings;
}

/**
 * Reports whether the user may say where requests go: in a network of sites only who manages the network, whose machine the server of
 * another site's administrator would reach as its own.
 */
function may_set_addresses(): bool
{
    return current_user_can(is_multisite() ? 'manage_network_options' : capability());
}

/** Reports whether an address is a plain URL of a server, with a path at most. */
function valid_address(string $address): bool
{
    $parts = wp_parse_url($address);
    return is_array($parts) && in_array($parts['scheme'] ?? '', ['http', 'https'], true) && !empty($parts['host'])
        && !array_diff_key($parts, array_flip(['scheme', 'host', 'port', 'path'])) && !preg_match('/\s/', $address)
        && !link_local($parts['host']);
}

/** Reports whether a host is a link-local address, where clouds tell their machines' secrets and no server of the API is. */
function link_local(string $host): bool
{
    $host = trim($host, '[]');
    $address = @inet_pton(strpos($host, ':') === false ? gethostbyname($host) : $host); // phpcs:ignore -- false for no address
    if ($address === false) {
        return false; // a name that is not known here
    }
    $mapped = str_repeat("\0", 10) . "\xff\xff";
    $address = strncmp($address, $mapped, 12) === 0 ? substr($address, 12) : $address;
    return strlen($address) === 4 ? strncmp($address, "\xa9\xfe", 2) === 0 : (ord($address[0]) === 0xfe && (ord($address[1]) & 0xc0) === 0x80);
}

/** Returns the address of the page. */
function page_url(): string
{
    return admin_url('admin.php?page=bookside');
}

/** Returns the address of the settings. */
function settings_url(): string
{
    return page_url() . '&tab=settings';
}

/** The capability that everything here needs. */
function capability(): string
{
    /**
     * Filters the capability that the pages of Bookside need.
     *
     * @param string $capability Default manage_options.
     */
    return (string) apply_filters('bookside_capability', 'manage_options');
}

/** Runs when the plugin is activated: what the companion notes about itself may be of another time. */
function activate(): void
{
    delete_option('bookside_companion_seen');
    \bookside_companion_seen();
}

/** Runs when the plugin is deactivated. A must-use plugin in its own place begins again with the next request. */
function deactivate(): void
{
    if (settings()['jobs']) {
        \BooksideJobs::unschedule();
    }
    delete_option('bookside_companion_seen'); // the server no longer goes by what it has reported
}
