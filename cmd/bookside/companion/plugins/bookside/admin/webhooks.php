<?php

/**
 * The tab Webhooks.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

function show_webhooks(): void
{
    $id = asked_id('webhook');
    $answer = ask_server('/webhooks' . ($id > 0 ? '/' . $id : ''));
    if (is_wp_error($answer)) {
        show_problem($answer);
        return;
    }
    if ($id > 0) {
        show_webhook_log($answer['webhook'], $answer['deliveries']);
        return;
    }
    echo '<p>' . esc_html__('A webhook tells a URL what changed on the site, whoever changed it. The command "bookside webhooks" on the server and the API create, change and delete webhooks.', 'bookside') . '</p>';
    $rows = [];
    foreach ($answer['webhooks'] ?? [] as $webhook) {
        $log = page_url('webhooks', ['webhook' => $webhook['id']]);
        $rows[] = [
            'name' => sprintf('<a href="%s"><strong>%s</strong></a>', esc_url($log), esc_html($webhook['name'])),
            'url' => '<code>' . esc_html($webhook['url']) . '</code>',
            'events' => implode('<br>', array_map('esc_html', array_merge(
                [$webhook['events'] === ['*'] ? __('all', 'bookside') : implode(', ', $webhook['events'])],
                limit_texts($webhook)
            ))),
            'state' => webhook_state($webhook),
        ];
    }
    $columns = ['name' => __('Name', 'bookside'), 'url' => __('URL', 'bookside'), 'events' => __('Events', 'bookside'), 'state' => __('State', 'bookside')];
    show_table(__('Webhooks', 'bookside'), $columns, $rows, __('There are no webhooks yet.', 'bookside'));
}

/** Returns the state of a webhook, escaped. */
function webhook_state(array $webhook): string
{
    $enabled = $webhook['enabled'];
    $text = state_text($enabled ? 'active' : 'revoked', $enabled ? __('enabled', 'bookside') : __('disabled', 'bookside'));
    if ($webhook['reason'] !== '') {
        $text .= '<br>' . esc_html($webhook['reason']);
    }
    if ($webhook['failing_since'] !== '') {
        /* translators: %s: a time. */
        $text .= '<br>' . state_text('revoked', sprintf(__('failing since %s', 'bookside'), local_time($webhook['failing_since'])));
    }
    return $text;
}

function show_webhook_log(array $webhook, array $deliveries): void
{
    echo '<h2>' . esc_html($webhook['name']) . '</h2><p><code>' . esc_html($webhook['url']) . '</code> ';
    echo wp_kses_post(webhook_state($webhook)) . '</p>';
    $states = [
        'waiting' => __('waiting', 'bookside'), 'sending' => __('being sent', 'bookside'), 'delivered' => __('delivered', 'bookside'), 'failed' => __('failed', 'bookside'),
    ];
    $classes = ['delivered' => 'active', 'failed' => 'revoked'];
    $rows = [];
    foreach ($deliveries as $delivery) {
        $answer = '';
        if ($delivery['failure'] !== '' || $delivery['status'] > 0) {
            /* translators: 1: an HTTP status or an error. 2: a number of milliseconds. */
            $answer = sprintf(__('%1$s in %2$s ms', 'bookside'), delivery_failure($delivery) ?: $delivery['status'], number_format_i18n($delivery['took_ms']));
        }
        $rows[] = [
            'event' => '<strong>' . esc_html($delivery['event']) . '</strong> ' . esc_html((string) ($delivery['resource_id'] ?: '')),
            'queued' => esc_html(local_time($delivery['created_at'])),
            'state' => state_text($classes[$delivery['state']] ?? 'expired', $states[$delivery['state']] ?? $delivery['state']),
            'tries' => esc_html(number_format_i18n($delivery['tries'])),
            'answer' => esc_html($answer),
        ];
    }
    $columns = [
        'event' => __('Event', 'bookside'), 'queued' => __('Queued', 'bookside'), 'state' => __('State', 'bookside'), 'tries' => __('Tries', 'bookside'),
        'answer' => __('Last response', 'bookside'),
    ];
    show_table(__('Latest deliveries', 'bookside'), $columns, $rows, __('Nothing was sent yet.', 'bookside'));
    printf('<p><a href="%s">%s</a></p>', esc_url(page_url('webhooks')), esc_html__('All webhooks', 'bookside'));
}

/** Returns why a delivery failed, in the language of the site; '' if it did not. Texts for translations have %d for the status. */
function delivery_failure(array $delivery): string
{
    $status = (string) $delivery['status'];
    return str_replace('%d', $status, said(str_replace($status, '%d', $delivery['failure'])));
}
