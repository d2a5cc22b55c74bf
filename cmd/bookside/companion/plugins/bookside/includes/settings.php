<?php

/**
 * The settings of the companion, which the must-use plugin reads.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

const OPTION = 'bookside_companion';
const JOBS_HOOK = 'latepoint_process_scheduled_jobs';

/** Returns the settings: staff_overbooking, jobs, abilities (whether those for AI agents book through the server), forward (address of the API, '' for none) and admin (address of its administration). */
function settings(): array
{
    $stored = get_option(OPTION, []);
    $stored = is_array($stored) ? $stored : [];
    // Options can be set by other means, too.
    return [
        'staff_overbooking' => (bool) ($stored['staff_overbooking'] ?? true),
        'jobs' => (bool) ($stored['jobs'] ?? false),
        'abilities' => (bool) ($stored['abilities'] ?? false),
        'forward' => is_string($stored['forward'] ?? null) ? $stored['forward'] : '',
        'admin' => is_string($stored['admin'] ?? null) ? $stored['admin'] : 'http://localhost:8081',
    ];
}

/**
 * Stores settings as submitted.
 *
 * @return true|\WP_Error With the field as the code of each message.
 */
function save_settings(array $typed)
{
    $errors = new \WP_Error();
    $settings = settings();
    $settings['staff_overbooking'] = !empty($typed['staff_overbooking']);
    $settings['jobs'] = !empty($typed['jobs']);
    $settings['abilities'] = !empty($typed['abilities']);
    foreach (['forward', 'admin'] as $field) {
        $address = rtrim(trim((string) ($typed[$field] ?? '')), '/');
        if ($address !== '' && !valid_address($address)) {
            $errors->add($field, __('Enter an address such as http://127.0.0.1:8080.', 'bookside'));
            continue;
        }
        if ($field === 'forward' && preg_match('~/(?:v1|wp-json)(?:/|$)~', (string) wp_parse_url($address, PHP_URL_PATH))) {
            $errors->add($field, __('Enter the address of the server alone: the path of each request is added to it.', 'bookside'));
            continue;
        }
        $settings[$field] = $address;
    }
    if ($errors->has_errors()) {
        return $errors;
    }
    update_option(OPTION, $settings);
    return true;
}

/** Reports whether an address is a plain URL of a server, with a path at most. */
function valid_address(string $address): bool
{
    $parts = wp_parse_url($address);
    return is_array($parts) && in_array($parts['scheme'] ?? '', ['http', 'https'], true) && !empty($parts['host'])
        && !array_diff_key($parts, array_flip(['scheme', 'host', 'port', 'path'])) && !preg_match('/\s/', $address);
}

/** Takes LatePoint's jobs out of the cron again: nobody runs them without the companion. */
function unschedule_jobs(): void
{
    if (class_exists('BooksideJobs')) {
        \BooksideJobs::unschedule();
    }
}

/** Runs when the plugin is activated: "companion remove" may have changed what the companion notes about itself, behind a cache. */
function activate(): void
{
    delete_option('bookside_companion_seen');
    if (function_exists('bookside_companion_seen')) {
        \bookside_companion_seen();
    }
}

/** Runs when the plugin is deactivated. A must-use plugin in its own place keeps running the jobs. */
function deactivate(): void
{
    if (companion_in_place()) {
        return;
    }
    if (settings()['jobs']) {
        unschedule_jobs();
    }
    delete_option('bookside_companion_seen'); // the server no longer goes by what it has reported
}

/** Reports whether the must-use plugin is in its own place, and not brought by this plugin. */
function companion_in_place(): bool
{
    if (!function_exists('bookside_companion_settings')) {
        return false;
    }
    // An uploaded plugin may have replaced an installed one, whose must-use plugin stays.
    return strpos((string) (new \ReflectionFunction('bookside_companion_settings'))->getFileName(), dirname(PLUGIN_FILE) . DIRECTORY_SEPARATOR) !== 0;
}

/** Returns the version of the must-use plugin that is loaded; '' if there is none. */
function companion_version(): string
{
    return defined('BOOKSIDE_COMPANION_VERSION') ? (string) constant('BOOKSIDE_COMPANION_VERSION') : '';
}

/**
 * Returns the must-use plugin's failures since they were last cleared, by what failed.
 *
 * @return array<string,array{count:int,at:int,message:string}>
 */
function companion_failures(): array
{
    return function_exists('bookside_companion_failures') ? bookside_companion_failures() : [];
}

/** Returns LatePoint's version; '' if it is not active. */
function platform_version(): string
{
    return defined('LATEPOINT_VERSION') ? (string) constant('LATEPOINT_VERSION') : '';
}
