<?php

/**
 * The settings of the companion on the page.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

function add_settings(): void
{
    register_setting('bookside', OPTION, ['sanitize_callback' => __NAMESPACE__ . '\\checked_settings']);
    add_filter('option_page_capability_bookside', __NAMESPACE__ . '\\capability');
}

function show_settings(): void
{
    $settings = settings();
    settings_errors();
    echo '<form method="post" action="options.php" novalidate>';
    settings_fields('bookside');
    echo '<table class="form-table" role="presentation">';
    switch_field(
        'staff_overbooking',
        __('Staff may book a slot that is taken', 'bookside'),
        __('LatePoint\'s forms for staff do not check the calendar. If this is off, a booking that overlaps another one is refused; if it is on, staff see a warning.', 'bookside'),
        $settings['staff_overbooking']
    );
    switch_field(
        'jobs',
        __('Run LatePoint\'s jobs', 'bookside'),
        __('LatePoint queues reminders and other mails, but runs its queue only with an add-on. If this is on, WordPress\'s cron runs it every five minutes, and mails for bookings through the API are sent by this site.', 'bookside'),
        $settings['jobs']
    );
    if (may_set_addresses()) {
        show_addresses($settings);
    }
    echo '</table>';
    submit_button();
    echo '</form>';
}

/** @param array<string,mixed> $settings */
function show_addresses(array $settings): void
{
    address_field(
        'forward',
        __('Forward requests', 'bookside'),
        __('For sites whose web server cannot be changed: the address of the API\'s server, such as http://127.0.0.1:8080. Requests to the API are then forwarded to it by PHP, which is slower. Leave it empty if the web server does it.', 'bookside'),
        $settings['forward']
    );
    address_field(
        'admin',
        __('Address of the server', 'bookside'),
        __('Where this page reaches the server of the API: "admin.listen" in its configuration. Leave it empty to contact no server.', 'bookside'),
        $settings['admin']
    );
}

function switch_field(string $field, string $label, string $hint, bool $on): void
{
    printf(
        '<tr><td colspan="2"><label><input type="checkbox" name="%s[%s]" value="1"%s aria-describedby="bookside-%s-hint"> %s</label>',
        esc_attr(OPTION),
        esc_attr($field),
        checked($on, true, false),
        esc_attr($field),
        esc_html($label)
    );
    end_field($field, $hint);
}

function address_field(string $field, string $label, string $hint, string $value): void
{
    printf('<tr><th scope="row"><label for="bookside-%1$s">%2$s</label></th><td>', esc_attr($field), esc_html($label));
    printf(
        '<input type="url" class="regular-text" id="bookside-%1$s" name="%2$s[%1$s]" value="%3$s" aria-describedby="bookside-%1$s-hint">',
        esc_attr($field),
        esc_attr(OPTION),
        esc_attr($value)
    );
    end_field($field, $hint);
}

function end_field(string $field, string $hint): void
{
    printf('<p class="description" id="bookside-%s-hint">%s</p></td></tr>', esc_attr($field), esc_html($hint));
}
