<?php

/**
 * The test of the booking API in WordPress's Site Health.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

function add_health_test(array $tests): array
{
    $tests['direct']['bookside'] = ['label' => 'Bookside', 'test' => __NAMESPACE__ . '\\test_health']; // the label is shown only if the test fails to run
    return $tests;
}

/** Asks the server what needs a person. */
function test_health(): array
{
    $report = ask_server('/report', [
        'method' => 'GET', 'language' => str_replace('_', '-', get_user_locale()), 'address' => page_url(),
    ]);
    if (is_wp_error($report)) {
        return health_result('critical', __('The server of the booking API does not answer', 'bookside'), '<p>' . esc_html($report->get_error_message()) . '</p>');
    }
    if (bookside_companion_failures()) {
        [$label, $text] = failures_text();
        return health_result('critical', $label, '<p>' . esc_html($text) . '</p>');
    }
    switch ($report['level'] ?? '') {
        case 'good':
            return health_result('good', __('The booking API works', 'bookside'), $report['content']);
        case 'minor':
            return health_result('recommended', __('Something about the booking API needs you', 'bookside'), $report['content']);
        default:
            return health_result('critical', __('The booking API does not work as it should', 'bookside'), (string) ($report['content'] ?? ''));
    }
}

/** @param string $content Escaped HTML. */
function health_result(string $status, string $label, string $content): array
{
    return [
        'label' => $label,
        'status' => $status,
        'badge' => ['label' => __('Booking API', 'bookside'), 'color' => $status === 'critical' ? 'red' : 'blue'],
        'description' => wp_kses_post($content),
        'actions' => sprintf('<p><a href="%s">%s</a></p>', esc_url(page_url()), esc_html__('Open the page of the API', 'bookside')),
        'test' => 'bookside',
    ];
}

/**
 * Returns what failed in the companion, in a few words and in detail.
 *
 * @return array{0:string,1:string}
 */
function failures_text(): array
{
    $texts = [];
    foreach (bookside_companion_failures() as $what => $failure) {
        $at = (string) wp_date(get_option('date_format') . ' ' . get_option('time_format'), (int) $failure['at']);
        /* translators: 1: a part, such as lock or journal. 2: how often. 3: a time. 4: an error message. */
        $texts[$what] = sprintf(__('%1$s (%2$s, last on %3$s): %4$s', 'bookside'), $what, number_format_i18n((int) $failure['count']), $at, $failure['message']);
    }
    if (isset($texts['payment'])) {
        $do = __('A payment took longer than its time was reserved. Book another time for the order, or refund it.', 'bookside');
        return [__('A customer may have paid for a time that somebody else has', 'bookside'), $do . ' ' . implode(' – ', $texts)];
    }
    return [__('Something failed in the companion', 'bookside'), implode(' – ', $texts)];
}
