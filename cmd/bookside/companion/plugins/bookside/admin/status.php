<?php

/**
 * The tab Status.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

function show_status(): void
{
    $icons = ['good' => 'yes-alt', 'recommended' => 'warning', 'critical' => 'dismiss'];
    $words = ['good' => __('Good:', 'bookside'), 'recommended' => __('Recommended:', 'bookside'), 'critical' => __('Problem:', 'bookside')];
    echo '<ul class="bookside-checks">';
    foreach (checks() as $run) {
        $check = $run();
        printf(
            '<li class="bookside-%s"><span class="dashicons dashicons-%s" aria-hidden="true"></span><div><h2><span class="screen-reader-text">%s </span>%s</h2><p>%s</p></div></li>',
            esc_attr($check['state']),
            esc_attr($icons[$check['state']]),
            esc_html($words[$check['state']]),
            esc_html($check['label']),
            esc_html($check['text'])
        );
    }
    echo '</ul>';
    if (companion_failures()) {
        begin_form('forget');
        echo '<p><button type="submit" class="button">' . esc_html__('Clear the failures', 'bookside') . '</button></p></form>';
    }
    echo '<h2>' . esc_html__('Use the API', 'bookside') . '</h2>';
    echo '<p>' . esc_html__('Apps send requests to this address, with a key from the tab Keys:', 'bookside') . '</p>';
    copy_field('bookside-address', __('address of the API', 'bookside'), api_url());
    echo '<p>' . esc_html__('Try it on a command line, with your key in place of YOUR_KEY:', 'bookside') . '</p>';
    copy_field('bookside-curl', __('command', 'bookside'), 'curl -H "X-API-Key: YOUR_KEY" "' . api_url() . '/status"');
    $wrong = __('If the response is a 404 from WordPress, neither the web server nor the setting "Forward requests" leads to the server of the API.', 'bookside');
    printf(
        '<p class="description" role="status" data-bookside-probe="%s" data-bookside-good="%s" data-bookside-bad="%s">%s</p>',
        esc_url(api_url() . '/docs'),
        esc_attr__('This address leads to the server of the API.', 'bookside'),
        esc_attr__('This address does not lead to the server of the API: set up the web server, or "Forward requests" under Settings.', 'bookside'),
        esc_html($wrong)
    );
}
