<?php

/**
 * Whether everything works: for the page, for Site Health and for the command line.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/**
 * Returns all checks by id. Each returns its state (good, recommended or critical), a label and a text that says what to do.
 *
 * @return array<string,callable():array{state:string,label:string,text:string}>
 */
function checks(): array
{
    return [
        'sidecar' => __NAMESPACE__ . '\\check_sidecar',
        'address' => __NAMESPACE__ . '\\check_address',
        'versions' => __NAMESPACE__ . '\\check_versions',
        'lock' => __NAMESPACE__ . '\\check_lock',
        'failures' => __NAMESPACE__ . '\\check_failures',
        'overlaps' => __NAMESPACE__ . '\\check_overlaps',
    ] + work_checks();
}

function check(string $state, string $label, string $text): array
{
    return ['state' => $state, 'label' => $label, 'text' => $text];
}

function check_sidecar(): array
{
    $sidecar = sidecar_state();
    if ($sidecar['state'] === 'ready') {
        return check('good', __('The server of the booking API is ready', 'bookside'), __('Apps and automations can use the API.', 'bookside'));
    }
    if ($sidecar['state'] === 'unknown') {
        return check('recommended', __('The state of the booking API\'s server is unknown', 'bookside'), no_address_text());
    }
    if ($sidecar['state'] === 'foreign') {
        return check(
            'critical',
            __('The server of the booking API that answers serves another site', 'bookside'),
            sprintf(
                /* translators: %s: an address. */
                __('At %s a server answers that reads the tables of another site, or of a copy of this one. Correct the address under LatePoint, API, Settings, or the database in the configuration of the server.', 'bookside'),
                settings()['admin']
            )
        );
    }
    if ($sidecar['state'] === 'waiting') {
        return check(
            'critical',
            __('The server of the booking API runs, but cannot serve', 'bookside'),
            /* translators: %s: what the server says. */
            sprintf(__('It says: %s. Run "bookside check" on the server to see what to do.', 'bookside'), $sidecar['text'])
        );
    }
    return check('critical', __('The server of the booking API does not answer', 'bookside'), away_text($sidecar['text']));
}

/** Tries the address that clients use: the web server or "Forward requests" may lead elsewhere while the server itself is ready. */
function check_address(): array
{
    $address = api_url();
    [$answer] = try_address($address . '/docs');
    if ($answer === '200') {
        if (foreign(try_address($address)[1])) {
            return check(
                'critical',
                __('The address of the API leads to the server of another site', 'bookside'),
                sprintf(
                    /* translators: %s: an address. */
                    __('At %s a server answers that reads the tables of another site, or of a copy of this one. Correct the web server, or "Forward requests" under LatePoint, API, Settings.', 'bookside'),
                    $address
                )
            );
        }
        /* translators: %s: an address. */
        return check('good', __('The address of the API leads to its server', 'bookside'), sprintf(__('Apps reach it at %s.', 'bookside'), $address));
    }
    if ($answer === '404') {
        return check(
            'critical',
            __('The address of the API does not lead to its server', 'bookside'),
            sprintf(
                /* translators: %s: an address. */
                __('There is nothing at %s (404). Set up the web server, or correct "Forward requests" under LatePoint, API, Settings: it is the address of the server alone, without a path.', 'bookside'),
                $address
            )
        );
    }
    return check(
        'recommended',
        __('The address of the API could not be tested', 'bookside'),
        /* translators: 1: an address. 2: a status or an error message. */
        sprintf(__('At %1$s the answer was: %2$s. Try it from another machine.', 'bookside'), $address, $answer)
    );
}

function check_versions(): array
{
    $label = __('The parts of Bookside have different versions', 'bookside');
    $latepoint = platform_version();
    if ($latepoint === '') {
        return check('critical', __('LatePoint is not active', 'bookside'), __('Bookside serves the bookings of LatePoint. Activate it under Plugins.', 'bookside'));
    }
    if (version_compare($latepoint, '5.0', '<') || version_compare($latepoint, '5.7', '>=')) {
        return check(
            'recommended',
            __('This version of LatePoint was not tested with Bookside', 'bookside'),
            /* translators: %s: a version. */
            sprintf(__('LatePoint is version %s; 5.0 to 5.6 were tested. See whether there is a newer version of Bookside.', 'bookside'), $latepoint)
        );
    }
    if (!keys_available()) {
        return check('critical', __('The tables of Bookside are missing', 'bookside'), keys_missing()->get_error_message());
    }
    $mine = companion_version();
    foreach ([VERSION, sidecar_state()['companion']] as $other) {
        if ($other !== '' && $mine !== '' && $other !== $mine) {
            return check(
                'recommended',
                $label,
                /* translators: 1 and 2: versions. */
                sprintf(__('The must-use plugin is version %1$s, another part is %2$s. Run "bookside companion install" on the server.', 'bookside'), $mine, $other)
            );
        }
    }
    return check(
        'good',
        __('The versions of Bookside and LatePoint are compatible', 'bookside'),
        /* translators: 1 and 2: versions. */
        sprintf(__('The companion is version %1$s, LatePoint %2$s.', 'bookside'), VERSION, $latepoint)
    );
}

function check_lock(): array
{
    if (companion_version() === '') {
        return check(
            'critical',
            __('Nothing prevents two customers from booking the same slot', 'bookside'),
            __('The must-use plugin of Bookside is not loaded. Run "bookside companion install" on the server.', 'bookside')
        );
    }
    $problem = lock_problem();
    if ($problem !== '') {
        return check('critical', __('The lock for bookings does not work', 'bookside'), $problem);
    }
    if (on_cluster()) {
        return check(
            'recommended',
            __('The lock for bookings works on one node of the database cluster', 'bookside'),
            __('The database is a cluster, and there a lock holds on one node only. Let WordPress and Bookside use the same node.', 'bookside')
        );
    }
    return check('good', __('The lock for bookings works', 'bookside'), __('Two customers cannot get the same slot, however they book.', 'bookside'));
}

/** Takes a lock that nobody needs on a connection of its own, as the must-use plugin does, and returns what is wrong, '' for nothing. */
function lock_problem(): string
{
    if (!has_table(own_table('locks'))) {
        return __('Its table is missing. The server of the API creates it when it starts.', 'bookside');
    }
    if (function_exists('bookside_companion_lock_problem')) {
        return (string) bookside_companion_lock_problem();
    }
    return '';
}

/** Reports whether the database is a cluster on which several nodes accept writes. */
function on_cluster(): bool
{
    global $wpdb;
    $galera = $wpdb->get_row("SHOW GLOBAL STATUS LIKE 'wsrep_cluster_size'", ARRAY_N);
    if ($galera && (int) $galera[1] > 1) {
        return true;
    }
    $group = $wpdb->get_row("SHOW GLOBAL VARIABLES LIKE 'group_replication_single_primary_mode'", ARRAY_N);
    $member = $wpdb->get_row("SHOW GLOBAL VARIABLES LIKE 'group_replication_group_name'", ARRAY_N);
    return $group && $member && $member[1] !== '' && strtoupper((string) $group[1]) === 'OFF';
}

function check_failures(): array
{
    $failures = companion_failures();
    if (!$failures) {
        return check('good', __('Nothing failed in the companion', 'bookside'), __('Locks, the journal, jobs and forwarded requests worked.', 'bookside'));
    }
    $names = [
        'payment' => __('orders without a booking', 'bookside'),
        'lock' => __('locks', 'bookside'), 'journal' => __('the journal', 'bookside'), 'forms' => __('forms', 'bookside'), 'jobs' => __('jobs', 'bookside'),
        'forward' => __('forwarded requests', 'bookside'), 'ask' => __('requests of the server', 'bookside'), 'events' => __('extensions that are told about changes', 'bookside'),
        'abilities' => __('bookings by AI agents', 'bookside'),
    ];
    $texts = [];
    foreach ($failures as $what => $failure) {
        $texts[] = sprintf(
            /* translators: 1: what failed. 2: how often. 3: a time. 4: an error message. */
            _n('%1$s: %2$s time, on %3$s: %4$s', '%1$s: %2$s times, last on %3$s: %4$s', (int) $failure['count'], 'bookside'),
            $names[$what] ?? $what,
            number_format_i18n((int) $failure['count']),
            local_time(gmdate('Y-m-d H:i:s', (int) $failure['at'])),
            $failure['message']
        );
    }
    if (isset($failures['payment'])) {
        return check(
            'critical',
            __('A customer may have paid for a time that somebody else has', 'bookside'),
            __('A payment took longer than its time was reserved. Book another time for the order, or refund it.', 'bookside') . ' ' . implode(' – ', $texts)
        );
    }
    return check('recommended', __('Something failed in the companion', 'bookside'), implode(' – ', $texts));
}

function check_overlaps(): array
{
    $sidecar = sidecar_state(); // a server that does not answer is not asked twice
    $found = $sidecar['state'] === 'away' ? new \WP_Error('bookside_server', away_text($sidecar['text'])) : ask_server('/overlaps');
    if (is_wp_error($found)) {
        return check('recommended', __('Nobody checked for overlapping bookings', 'bookside'), __('The server of the API checks for them.', 'bookside') . ' ' . $found->get_error_message());
    }
    $number = count($found['overlaps'] ?? []);
    if ($number === 0) {
        return check('good', __('No bookings overlap', 'bookside'), __('No agent has two bookings at a time from today on.', 'bookside'));
    }
    return check(
        'recommended',
        __('Bookings overlap', 'bookside'),
        sprintf(
            /* translators: %s: a number. */
            _n('%s pair of bookings of one agent, room or device overlaps. See LatePoint, API, Overlaps.', '%s pairs of bookings of one agent, room or device overlap. See LatePoint, API, Overlaps.', $number, 'bookside'),
            number_format_i18n($number) . (empty($found['more']) ? '' : '+')
        )
    );
}

/** Adds the checks to Site Health. */
function add_health_tests(array $tests): array
{
    foreach (checks() as $id => $run) {
        $tests['direct']['bookside_' . $id] = [
            'label' => 'Bookside', // shown only if the test fails to run
            'test' => function () use ($id, $run) {
                return health_result($id, $run());
            },
        ];
    }
    return $tests;
}

function health_result(string $id, array $check): array
{
    $colors = ['good' => 'blue', 'recommended' => 'orange', 'critical' => 'red'];
    return [
        'label' => $check['label'],
        'status' => $check['state'],
        'badge' => ['label' => __('Booking API', 'bookside'), 'color' => $colors[$check['state']]],
        'description' => '<p>' . esc_html($check['text']) . '</p>',
        'actions' => sprintf('<p><a href="%s">%s</a></p>', esc_url(page_url()), esc_html__('Open the page of the API', 'bookside')),
        'test' => 'bookside_' . $id,
    ];
}

/** Returns the address of the page, or of one of its tabs. */
function page_url(string $tab = '', array $arguments = []): string
{
    return add_query_arg(array_filter(['page' => 'bookside', 'tab' => $tab]) + $arguments, admin_url('admin.php'));
}

/** Adds what support needs to know. Neither keys nor addresses of others are in it. */
function add_debug_information(array $information): array
{
    $settings = settings();
    $sidecar = sidecar_state();
    $active = array_filter(list_keys(), fn($key) => key_status($key) === 'active');
    $webhooks = own_table('webhooks');
    $tables = array_filter(
        ['admin_tokens', 'api_keys', 'change_inbox', 'changes', 'extensions', 'holds', 'idempotency', 'locks', 'outbox', 'secrets', 'webhooks', 'webhook_deliveries', 'webhook_tries'],
        fn($name) => !has_table(own_table($name))
    );
    $yes = __('yes', 'bookside');
    $no = __('no', 'bookside');
    $fields = [
        'plugin' => [__('Plugin', 'bookside'), VERSION],
        'companion' => [__('Must-use plugin', 'bookside'), companion_version() ?: __('not loaded', 'bookside')],
        'place' => [__('Loaded', 'bookside'), companion_in_place() ? __('as a must-use plugin', 'bookside') : __('by the plugin', 'bookside')],
        'latepoint' => ['LatePoint', platform_version() ?: __('not active', 'bookside')],
        'sidecar' => [__('Server of the API', 'bookside'), $sidecar['state']],
        'brings' => [__('Companion that the server brings', 'bookside'), $sidecar['companion']],
        'missing' => [__('Missing tables', 'bookside'), implode(', ', $tables) ?: __('none', 'bookside')],
        'keys' => [__('Active keys', 'bookside'), count($active)],
        'webhooks' => [__('Webhooks', 'bookside'), has_table($webhooks) ? (int) $GLOBALS['wpdb']->get_var("SELECT COUNT(*) FROM $webhooks") : 0],
        'overbooking' => [__('Staff may overbook', 'bookside'), $settings['staff_overbooking'] ? $yes : $no],
        'jobs' => [__('Runs LatePoint\'s jobs', 'bookside'), $settings['jobs'] ? $yes : $no],
        'abilities' => [__('AI books through Bookside', 'bookside'), $settings['abilities'] ? $yes : $no],
        'forward' => [__('Forwards requests', 'bookside'), $settings['forward'] !== '' ? $yes : $no],
        'failures' => [__('Failures', 'bookside'), implode(', ', array_keys(companion_failures())) ?: __('none', 'bookside')],
        'cluster' => [__('Database cluster', 'bookside'), on_cluster() ? $yes : $no],
    ];
    $information['bookside'] = ['label' => 'Bookside', 'fields' => []];
    foreach ($fields as $id => $field) {
        $information['bookside']['fields'][$id] = ['label' => $field[0], 'value' => (string) $field[1]];
    }
    return $information;
}
