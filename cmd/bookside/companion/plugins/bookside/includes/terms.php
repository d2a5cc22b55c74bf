<?php

/**
 * The terms of a key, as people write them and as the sidecar stores and reads them.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

const KEY_KINDS = ['live', 'test'];
const PERMISSION_VERBS = ['read', 'write', 'delete'];
const PERMISSION_RESOURCES = ['bookings', 'customers', 'agents', 'services', 'locations', 'payments', 'orders', 'coupons', 'availability'];
const NAMED_PERMISSIONS = ['read_changes', 'write_users', 'write_webhooks'];

const MAX_KEY_NAME = 190;
const MAX_NETWORKS = 50;
const MAX_LIMIT_IDS = 100;
const LARGEST_LIMIT_ID = 8388607;
const MAX_KEY_REQUESTS = 1000000000;
const LONGEST_LIFE_DAYS = 36500;

/** Returns sets of permissions for common purposes: label and permissions by id. */
function permission_presets(): array
{
    return [
        'read' => [__('Read everything', 'bookside'), ['read']],
        'booking' => [
            __('Take bookings: an app or a website', 'bookside'),
            [
                'read_availability', 'read_services', 'read_agents', 'read_locations', 'read_bookings', 'write_bookings',
                'read_customers', 'write_customers',
            ],
        ],
        'desk' => [__('Front desk: read and write', 'bookside'), ['read', 'write']],
        'sync' => [__('Follow changes: a CRM or an automation', 'bookside'), ['read', 'read_changes']],
        'everything' => [__('Everything but users and webhooks', 'bookside'), ['read', 'write', 'delete', 'read_changes']],
    ];
}

/** Returns all permissions that a key can have. */
function all_permissions(): array
{
    $all = PERMISSION_VERBS;
    foreach (PERMISSION_RESOURCES as $resource) {
        foreach (PERMISSION_VERBS as $verb) {
            $all[] = $verb . '_' . $resource;
        }
    }
    return array_merge($all, NAMED_PERMISSIONS);
}

/** Returns a permission for people, such as "read bookings". */
function permission_text(string $permission): string
{
    $verbs = ['read' => __('read', 'bookside'), 'write' => __('write', 'bookside'), 'delete' => __('delete', 'bookside')];
    [$verb, $resource] = array_pad(explode('_', $permission, 2), 2, '');
    /* translators: 1: read, write or delete. 2: what, such as bookings. */
    return sprintf(_x('%1$s %2$s', 'permission', 'bookside'), $verbs[$verb] ?? $verb, resource_text($resource));
}

/** Returns a resource for people; '' is everything. */
function resource_text(string $resource): string
{
    $texts = [
        '' => __('everything', 'bookside'), 'bookings' => __('bookings', 'bookside'), 'customers' => __('customers', 'bookside'),
        'agents' => __('agents', 'bookside'), 'services' => __('services', 'bookside'), 'locations' => __('locations', 'bookside'),
        'payments' => __('payments', 'bookside'), 'orders' => __('orders', 'bookside'), 'coupons' => __('coupons', 'bookside'),
        'availability' => __('availability', 'bookside'), 'changes' => __('changes', 'bookside'), 'users' => __('users', 'bookside'),
        'webhooks' => __('webhooks', 'bookside'), 'invoices' => __('invoices', 'bookside'),
    ];
    return $texts[$resource] ?? $resource;
}

/**
 * Checks the terms of a key as typed.
 *
 * @param array<string,mixed> $typed  Of name, kind, permissions (a list), networks, expires (a date), per_minute, per_hour,
 *                                     agents, services, locations and mask_personal, those to check.
 * @param \WP_Error           $errors Gets a message for each field that is wrong, with the field as its code.
 * @return array<string,mixed> Columns of the table of keys.
 */
function parse_terms(array $typed, \WP_Error $errors): array
{
    $columns = [];
    $parsers = [
        'name' => 'parse_name', 'kind' => 'parse_kind', 'permissions' => 'parse_permissions', 'networks' => 'parse_networks', 'expires' => 'parse_expiry',
        'per_minute' => 'parse_limit', 'per_hour' => 'parse_limit',
        'agents' => 'parse_agents', 'services' => 'parse_services', 'locations' => 'parse_locations', 'mask_personal' => 'parse_switch',
    ];
    $names = ['expires' => 'expires_at', 'per_minute' => 'requests_per_minute', 'per_hour' => 'requests_per_hour'];
    foreach ($parsers as $field => $parser) {
        if (!array_key_exists($field, $typed)) {
            continue;
        }
        $value = call_user_func(__NAMESPACE__ . '\\' . $parser, $typed[$field]);
        if (is_wp_error($value)) {
            $errors->add($field, $value->get_error_message());
            continue;
        }
        $columns[$names[$field] ?? $field] = $value;
    }
    return $columns;
}

/** Trims a name of 1 to 190 characters. Returns it or a WP_Error. */
function parse_name($text)
{
    $name = trim((string) $text);
    $length = preg_match('//u', $name) ? preg_match_all('/./us', $name) : 0;
    if ($length < 1 || $length > MAX_KEY_NAME || preg_match('/\p{Cc}/u', $name)) {
        /* translators: %d: a number of characters. */
        return new \WP_Error('name', sprintf(__('Write 1 to %d characters without line breaks.', 'bookside'), MAX_KEY_NAME));
    }
    return $name;
}

/** Returns live or test, or a WP_Error. */
function parse_kind($text)
{
    return in_array($text, KEY_KINDS, true) ? $text : new \WP_Error('kind', __('Choose live or test.', 'bookside'));
}

/** Returns a list of permissions as the column has it, or a WP_Error. */
function parse_permissions($list)
{
    $words = array_values(array_unique(array_map('trim', array_map('strval', (array) $list))));
    if (!$words) {
        return new \WP_Error('permissions', __('Choose at least one permission.', 'bookside'));
    }
    $messages = [];
    foreach (array_diff($words, all_permissions()) as $word) {
        $meant = permission_meant($word);
        $messages[] = $meant === ''
            /* translators: %s: a word. */
            ? sprintf(__('There is no permission "%s".', 'bookside'), $word)
            /* translators: 1: a word. 2: a permission, such as read_bookings. */
            : sprintf(__('There is no permission "%1$s"; did you mean %2$s?', 'bookside'), $word, $meant);
    }
    return $messages ? new \WP_Error('permissions', implode(' ', $messages)) : implode(',', $words);
}

/** Returns what somebody may have meant by a word that is no permission, as the server guesses it; '' for who knows. */
function permission_meant(string $word): string
{
    $word = strtolower($word);
    if (in_array($word, ['all', 'any', 'full', 'everything', 'admin', '*'], true)) {
        return implode(',', PERMISSION_VERBS);
    }
    return closest_word($word, all_permissions());
}

/**
 * Returns the word that another one may stand for; '' if none is like it.
 *
 * @param string[] $words
 */
function closest_word(string $word, array $words): string
{
    sort($words);
    $distances = array_map(fn($other) => levenshtein(substr($word, 0, 255), $other), $words); // more bytes than PHP 7 compares
    $least = min($distances);
    $closest = $words[array_search($least, $distances, true)];
    return $least <= max(1, intdiv(strlen($closest), 3)) ? $closest : '';
}

/** Returns networks, separated by commas or blanks, as the column has them, or a WP_Error. '' is any network. */
function parse_networks($text)
{
    $words = preg_split('/[\s,]+/', (string) $text, -1, PREG_SPLIT_NO_EMPTY) ?: [];
    if (count($words) > MAX_NETWORKS) {
        /* translators: %d: a number. */
        return new \WP_Error('networks', sprintf(__('Write %d networks at most.', 'bookside'), MAX_NETWORKS));
    }
    $networks = [];
    foreach ($words as $word) {
        $network = parse_network($word);
        if ($network === null) {
            /* translators: %s: what was typed. */
            return new \WP_Error('networks', sprintf(__('"%s" is not a network. Write one such as 192.0.2.0/24, or an address.', 'bookside'), $word));
        }
        $networks[] = $network;
    }
    return implode(',', array_unique($networks));
}

/** Returns a network such as 192.0.2.0/24, or an address as a network of its own, with the bits behind it zero; null if it is neither. */
function parse_network(string $word): ?string
{
    [$address, $bits] = array_pad(explode('/', $word, 2), 2, null);
    if (filter_var($address, FILTER_VALIDATE_IP) === false) {
        return null;
    }
    $packed = (string) inet_pton($address);
    $length = 8 * strlen($packed);
    if ($length === 128 && strncmp($packed, str_repeat("\0", 10) . "\xff\xff", 12) === 0) {
        return null; // an IPv4 address as IPv6: the sidecar would not match it
    }
    if ($bits === null) {
        $bits = (string) $length;
    }
    if (!preg_match('/^(0|[1-9][0-9]{0,2})$/', $bits) || (int) $bits > $length) {
        return null;
    }
    $kept = (int) $bits;
    for ($i = 0; $i < strlen($packed); $i++) {
        $in_byte = max(0, min(8, $kept - 8 * $i));
        $packed[$i] = chr(ord($packed[$i]) & (0xff << (8 - $in_byte)) & 0xff);
    }
    return inet_ntop($packed) . '/' . $kept;
}

/** Returns the end of the last day of a key, as the column has it, null for '' (never), or a WP_Error. */
function parse_expiry($text)
{
    $text = trim((string) $text);
    if ($text === '') {
        return null;
    }
    $day = \DateTimeImmutable::createFromFormat('!Y-m-d', $text, new \DateTimeZone('UTC'));
    if (!$day || $day->format('Y-m-d') !== $text) {
        return new \WP_Error('expires', __('Write a date such as 2027-01-31.', 'bookside'));
    }
    $end = $day->modify('+1 day');
    if ($end->getTimestamp() <= time()) {
        return new \WP_Error('expires', __('This day is in the past.', 'bookside'));
    }
    if ($end->getTimestamp() > time() + (LONGEST_LIFE_DAYS + 1) * DAY_IN_SECONDS) {
        /* translators: %d: a number of days. */
        return new \WP_Error('expires', sprintf(__('Choose a day within %d days.', 'bookside'), LONGEST_LIFE_DAYS));
    }
    return $end->format('Y-m-d H:i:s');
}

/** Returns a number of requests, null for '' (the configured limit), or a WP_Error. */
function parse_limit($text)
{
    $text = trim((string) $text);
    if ($text === '') {
        return null;
    }
    if (!preg_match('/^0*[1-9][0-9]{0,9}$/', $text) || (int) $text > MAX_KEY_REQUESTS) {
        /* translators: %s: a number. */
        return new \WP_Error('limit', sprintf(__('Write a number from 1 to %s.', 'bookside'), number_format_i18n(MAX_KEY_REQUESTS)));
    }
    return (int) $text;
}

/** Returns ids, separated by commas, as the column has them, or a WP_Error. '' is all. */
function parse_ids($text)
{
    $text = trim((string) $text);
    if ($text === '') {
        return '';
    }
    $ids = [];
    foreach (explode(',', $text) as $word) {
        $word = trim($word);
        if (!preg_match('/^0*[1-9][0-9]{0,6}$/', $word) || (int) $word > LARGEST_LIMIT_ID) {
            return new \WP_Error('ids', __('Write ids such as 3,4.', 'bookside'));
        }
        $ids[(int) $word] = true;
    }
    ksort($ids);
    if (count($ids) > MAX_LIMIT_IDS) {
        /* translators: %d: a number. */
        return new \WP_Error('ids', sprintf(__('Write %d ids at most.', 'bookside'), MAX_LIMIT_IDS));
    }
    return implode(',', array_keys($ids));
}

/** Returns 1 for a box that is ticked, 0 for another. */
function parse_switch($text): int
{
    return (string) $text === '' ? 0 : 1;
}
