<?php

/**
 * The tab Free times.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

function show_times(): void
{
    $day = isset($_GET['day']) ? sanitize_text_field(wp_unslash($_GET['day'])) : '';
    $times = ask_newer_server('/free-times', ['service' => asked_id('service'), 'agent' => asked_id('agent'), 'location' => asked_id('location'), 'day' => $day, 'user' => get_current_user_id()]);
    if (is_wp_error($times)) {
        show_problem($times);
        return;
    }
    echo '<h2>' . esc_html__('Why is this time not free?', 'bookside') . '</h2>';
    if (!$times['services']) {
        $services = add_query_arg(['page' => 'latepoint', 'route_name' => 'services__index'], admin_url('admin.php'));
        printf('<p>%s <a href="%s">%s</a></p>', esc_html__('The site has no services yet.', 'bookside'), esc_url($services), esc_html__('Create one in LatePoint', 'bookside'));
        return;
    }
    begin_question('times');
    choice_field('service', __('Service', 'bookside'), array_column($times['services'], 'name', 'id'), $times['service']);
    choice_field('agent', __('Agent', 'bookside'), ['' => _x('any', 'agent or location', 'bookside')] + array_column($times['agents'], 'name', 'id'), $times['agent']);
    choice_field('location', __('Location', 'bookside'), ['' => _x('any', 'agent or location', 'bookside')] + array_column($times['locations'], 'name', 'id'), $times['location']);
    printf('<p><label for="bookside-day">%s</label><input type="date" id="bookside-day" name="day" value="%s" required></p>', esc_html__('Day', 'bookside'), esc_attr($times['day']));
    end_question(__('Explain', 'bookside'));
    if ($times['problems']) {
        show_warning(implode(' ', array_map(__NAMESPACE__ . '\\said', $times['problems'])));
        return;
    }
    if ($times['missing'] !== '') {
        /* translators: 1: a day. 2: a sentence that says why. */
        show_warning(sprintf(__('Nothing can be booked on %1$s. %2$s', 'bookside'), day_text($times['day']), said($times['missing'])));
        show_places(__('Change it here:', 'bookside'), $times['places']);
        return;
    }
    show_starts($times);
}

function show_starts(array $times): void
{
    /* translators: 1: a number. 2: a number. 3: a day. */
    $found = sprintf(__('%1$s of %2$s starts are free on %3$s.', 'bookside'), number_format_i18n($times['free']), number_format_i18n($times['all']), day_text($times['day']));
    echo '<p><strong>' . esc_html($found) . '</strong></p>';
    $rows = [];
    foreach ($times['starts'] as $starts) {
        $free = $starts['reason'] === '';
        $why = $free ? __('Free.', 'bookside') : said($starts['message']);
        $rows[] = [
            'starts' => state_text($free ? 'active' : 'taken', implode(', ', array_map(__NAMESPACE__ . '\\start_text', $starts['times']))),
            'why' => esc_html($starts['extension'] === '' ? $why : "$why ({$starts['extension']})"),
            'cause' => $starts['booking'] === null ? '' : booking_link($starts['booking']),
            'places' => place_links($starts['places']),
        ];
    }
    $columns = ['starts' => __('Starts', 'bookside'), 'why' => __('Why', 'bookside'), 'cause' => __('Cause', 'bookside'), 'places' => __('Change it', 'bookside')];
    show_table(__('Why is this time not free?', 'bookside'), $columns, $rows, '');
    show_places(
        __('Starts that are not in the list are outside of the working hours, or between the starts that the service offers. Change that here:', 'bookside'),
        $times['places']
    );
}

/** Returns a start such as 09:15 as the site shows times. */
function start_text(string $start): string
{
    [$hours, $minutes] = array_map('intval', explode(':', $start));
    return clock_text($hours * 60 + $minutes);
}

/** Returns a day as the site shows dates, with its weekday. */
function day_text(string $day): string
{
    return (string) wp_date('l, ' . get_option('date_format'), (int) strtotime($day . ' 12:00:00 UTC'), new \DateTimeZone('UTC'));
}

function show_places(string $text, array $places): void
{
    if ($places) {
        echo '<p>' . esc_html($text) . ' ' . wp_kses_post(place_links($places)) . '</p>';
    }
}

/** Returns links to the pages of WordPress where something is changed, escaped. */
function place_links(array $places): string
{
    $links = [];
    foreach ($places as $place) {
        $links[] = sprintf('<a href="%s">%s</a>', esc_url(admin_url($place['page'])), esc_html(said($place['text'])));
    }
    return implode(', ', $links);
}
