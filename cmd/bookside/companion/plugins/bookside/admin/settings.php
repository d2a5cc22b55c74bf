<?php

/**
 * The tab Settings.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

function show_settings(): void
{
    $settings = array_merge(settings(), form_outcome()->typed);
    begin_form('settings');
    echo '<table class="form-table" role="presentation">';
    switch_field(
        'staff_overbooking',
        __('Overbooking', 'bookside'),
        __('Staff may book a slot that is taken', 'bookside'),
        __('LatePoint\'s forms for staff do not check the calendar. If this is off, a booking that overlaps another one is refused; if it is on, staff see a warning.', 'bookside'),
        $settings['staff_overbooking']
    );
    switch_field(
        'jobs',
        __('Jobs', 'bookside'),
        __('Run LatePoint\'s jobs', 'bookside'),
        __('LatePoint queues reminders and other mails, but runs its queue only with an add-on. If this is on, WordPress\'s cron runs it every five minutes, and mails for bookings through the API are sent by this site.', 'bookside'),
        $settings['jobs']
    );
    switch_field(
        'abilities',
        __('AI agents', 'bookside'),
        __('AI books through Bookside', 'bookside'),
        __('LatePoint\'s abilities for AI agents ignore working hours and send no messages. If this is on, AI agents that use them book, change and cancel through the server of the API, and get its free times. While it is down, they cannot book.', 'bookside'),
        $settings['abilities']
    );
    text_field(
        'forward',
        __('Forward requests', 'bookside'),
        __('For sites whose web server cannot be changed: the address of the API\'s server, such as http://127.0.0.1:8080. Requests to the API are then forwarded to it by PHP, which is slower. Leave it empty if the web server does it.', 'bookside'),
        (string) $settings['forward'],
        'url'
    );
    text_field(
        'admin',
        __('Address of the server', 'bookside'),
        __('Where these pages reach the server of the API: "admin.listen" in its configuration. Without it, keys can only be revoked. Leave it empty to contact no server.', 'bookside'),
        (string) $settings['admin'],
        'url'
    );
    echo '</table><p class="submit"><button type="submit" class="button button-primary">' . esc_html__('Save the settings', 'bookside') . '</button></p></form>';
}

function switch_field(string $field, string $head, string $label, string $hint, bool $on): void
{
    printf(
        '<tr><th scope="row">%s</th><td><label for="bookside-%s"><input type="checkbox" id="bookside-%s" name="%s" value="1"%s%s> %s</label>',
        esc_html($head),
        esc_attr($field),
        esc_attr($field),
        esc_attr($field),
        checked($on, true, false),
        described_by($field, $hint !== ''), // escaped there
        esc_html($label)
    );
    end_field($field, $hint);
}
