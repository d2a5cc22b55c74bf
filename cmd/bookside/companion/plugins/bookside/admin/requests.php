<?php

/**
 * The tab Requests.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

function show_requests(): void
{
    $id = asked_id('request');
    if ($id > 0) {
        show_request($id);
        return;
    }
    $filter = array_filter(['key' => asked_id('key'), 'status' => asked_id('status')]);
    $answer = ask_newer_server('/requests', $filter + ['before' => asked_id('before')]);
    if (is_wp_error($answer)) {
        show_problem($answer);
        return;
    }
    echo '<p>' . esc_html__('The requests to the API since midnight, by anybody, the latest first. A request appears a second after it has ended.', 'bookside') . ' ';
    echo esc_html__('Those without a valid key are counted by the minute: each minute has one line for each status, with the first of them.', 'bookside') . '</p>';
    show_missing_requests($answer);
    begin_question('requests');
    choice_field('key', __('Key', 'bookside'), ['' => __('all', 'bookside')] + (array) ($answer['keys'] ?? []), $filter['key'] ?? '');
    choice_field('status', __('Status', 'bookside'), ['' => __('all', 'bookside')] + request_statuses($answer['statuses']), $filter['status'] ?? '');
    end_question(__('Filter', 'bookside'));
    $rows = [];
    foreach ($answer['requests'] as $request) {
        $rows[] = [
            'request' => sprintf('<a href="%s"><strong>%s</strong></a>', esc_url(page_url('requests', ['request' => $request['id']])), esc_html(request_text($request))),
            'caller' => esc_html(request_caller($request)),
            'status' => request_status($request),
            'took' => esc_html(request_duration($request)),
            'at' => esc_html(local_time($request['at'])),
            'id' => '<code>' . esc_html($request['request_id']) . '</code>',
        ];
    }
    $columns = [
        'request' => __('Request', 'bookside'), 'caller' => __('By', 'bookside'), 'status' => __('Status', 'bookside'), 'took' => __('Duration', 'bookside'), 'at' => __('Time', 'bookside'),
        'id' => __('Request ID', 'bookside'),
    ];
    $none = $filter
        ? __('There are no such requests today.', 'bookside')
        : __('There were no requests today. The tab Status has the address for apps, and a command to try it.', 'bookside');
    show_table(__('Requests of today', 'bookside'), $columns, $rows, $none);
    if ($answer['more']) {
        $last = end($answer['requests']);
        printf(
            '<p>%s <a class="button" href="%s">%s</a></p>',
            /* translators: %s: a number. */
            esc_html(sprintf(__('%s requests are shown.', 'bookside'), number_format_i18n(count($rows)))),
            esc_url(page_url('requests', $filter + ['before' => $last['id']])),
            esc_html__('Earlier requests', 'bookside')
        );
    }
}

/** Says which requests the list cannot have. */
function show_missing_requests(array $answer): void
{
    if ($answer['off']) {
        show_warning(__('The server keeps no requests: "requests.keep" in its configuration is 0.', 'bookside'));
    }
    if ($answer['dropped'] > 0) {
        show_warning(sprintf(
            /* translators: %s: a number. */
            _n('%s request is missing, because the database was too slow to store it.', '%s requests are missing, because the database was too slow to store them.', $answer['dropped'], 'bookside'),
            number_format_i18n($answer['dropped'])
        ));
    }
}

/** Returns the statuses to choose from, with their texts: one digit stands for all that begin with it. */
function request_statuses(array $statuses): array
{
    $texts = ['2' => __('2xx: done', 'bookside'), '4' => __('4xx: refused', 'bookside'), '5' => __('5xx: failed', 'bookside')];
    return array_replace(array_combine($statuses, $statuses), array_intersect_key($texts, array_flip($statuses)));
}

/** Returns the method and the path of a request, and the tool of an AI agent. */
function request_text(array $request): string
{
    /* translators: %s: a method, such as GET. */
    $text = $request['route'] === 'none' ? sprintf(__('%s, no route', 'bookside'), $request['method']) : $request['method'] . ' ' . $request['path'];
    return trim($text . ' ' . $request['tool']);
}

/** Returns who sent a request, for people. */
function request_caller(array $request): string
{
    switch ($request['caller']) {
        case 'none':
            /* translators: %s: a number. */
            return sprintf(_n('%s request without a valid key', '%s requests without a valid key', $request['refused'], 'bookside'), number_format_i18n($request['refused']));
        case 'key':
            /* translators: %s: the name or number of an API key. */
            return sprintf(__('API key %s', 'bookside'), $request['key'] !== '' ? $request['key'] : $request['key_id']);
        case 'calendar':
            /* translators: %s: the name of a calendar. */
            return sprintf(__('calendar %s', 'bookside'), $request['key']);
        case 'console':
            return __('an administrator, on the console', 'bookside');
        case 'user':
            $user = get_userdata($request['user_id']);
            /* translators: %d: the number of a user. */
            return $user ? $user->display_name : sprintf(__('user %d', 'bookside'), $request['user_id']);
        default:
            return __('a visitor or the site itself', 'bookside');
    }
}

/** Returns the status of a response with the code of its error, and whether the request was a dry run, escaped. */
function request_status(array $request): string
{
    $text = state_text($request['status'] >= 400 ? 'revoked' : 'active', (string) $request['status']);
    if ($request['dry_run'] ?? false) {
        $text .= '<br>' . esc_html__('dry run', 'bookside');
    }
    return $request['code'] === '' ? $text : $text . '<br><code>' . esc_html($request['code']) . '</code>';
}

function request_duration(array $request): string
{
    /* translators: %s: a number of milliseconds. */
    return sprintf(__('%s ms', 'bookside'), number_format_i18n($request['took_ms'], 1));
}

/** Shows a request with what was refused. */
function show_request(int $id): void
{
    $request = ask_server('/requests/' . $id);
    if (is_wp_error($request)) {
        show_problem($request->get_error_code() === 'bookside_404' ? new \WP_Error('bookside_404', __('There is no such request: only the latest are kept.', 'bookside')) : $request);
        return;
    }
    echo '<h2>' . esc_html(request_text($request)) . '</h2><table class="form-table" role="presentation">';
    $facts = [
        __('Status', 'bookside') => request_status($request), __('By', 'bookside') => esc_html(request_caller($request)), __('Time', 'bookside') => esc_html(local_time($request['at'])),
        __('Duration', 'bookside') => esc_html(request_duration($request)), __('Request ID', 'bookside') => '<code>' . esc_html($request['request_id']) . '</code>',
        __('Query', 'bookside') => $request['query'] === '' ? '' : '<code>' . esc_html($request['query']) . '</code>',
        __('Body', 'bookside') => ($request['body'] ?? '') === '' ? '' : '<code>' . esc_html($request['body']) . '</code>',
        __('Ignored parameters', 'bookside') => esc_html(implode(', ', $request['ignored'] ?? [])),
    ];
    foreach (array_filter($facts) as $name => $content) {
        printf('<tr><th scope="row">%s</th><td>%s</td></tr>', esc_html($name), wp_kses_post($content));
    }
    echo '</table>';
    if ($request['refused'] > 0) {
        echo '<p>' . esc_html__('This is the first of the requests without a valid key that got this status in its minute; the others are only counted.', 'bookside') . '</p>';
    }
    $rows = [];
    foreach ($request['fields'] ?? [] as $field => $why) {
        $rows[] = ['field' => '<strong>' . esc_html((string) $field) . '</strong>', 'why' => esc_html(said_with_values(rtrim($why, '.') . '.'))];
    }
    if ($rows) {
        echo '<h2>' . esc_html__('What was refused', 'bookside') . '</h2>';
        show_table(__('What was refused', 'bookside'), ['field' => __('Field', 'bookside'), 'why' => __('Why', 'bookside')], $rows, '');
    }
    printf('<p><a href="%s">%s</a></p>', esc_url(page_url('requests')), esc_html__('All requests of today', 'bookside'));
}
