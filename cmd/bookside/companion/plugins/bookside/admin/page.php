<?php

/**
 * The page "API" below LatePoint's menu.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/** Returns the tabs of the page: label and the function that shows it. */
function tabs(): array
{
    return [
        'status' => [__('Status', 'bookside'), __NAMESPACE__ . '\\show_status'],
        'keys' => [__('Keys', 'bookside'), __NAMESPACE__ . '\\show_keys'],
        'requests' => [__('Requests', 'bookside'), __NAMESPACE__ . '\\show_requests'],
        'times' => [__('Free times', 'bookside'), __NAMESPACE__ . '\\show_times'],
        'webhooks' => [__('Webhooks', 'bookside'), __NAMESPACE__ . '\\show_webhooks'],
        'extensions' => [__('Extensions', 'bookside'), __NAMESPACE__ . '\\show_extensions'],
        'changes' => [__('Changes', 'bookside'), __NAMESPACE__ . '\\show_changes'],
        'overlaps' => [__('Overlaps', 'bookside'), __NAMESPACE__ . '\\show_overlaps'],
        'settings' => [__('Settings', 'bookside'), __NAMESPACE__ . '\\show_settings'],
    ];
}

/** Adds the page below LatePoint's menu, or below Tools where LatePoint is not active. */
function add_page(): void
{
    $title = __('Booking API', 'bookside');
    $parent = empty($GLOBALS['admin_page_hooks']['latepoint']) ? 'tools.php' : 'latepoint';
    $hook = add_submenu_page($parent, $title, __('API', 'bookside'), capability(), 'bookside', __NAMESPACE__ . '\\show_page');
    if ($hook) {
        add_action('load-' . $hook, __NAMESPACE__ . '\\prepare_page');
    }
}

/** Runs before anything is sent: acts on a form, and loads what the page needs. */
function prepare_page(): void
{
    if (($_SERVER['REQUEST_METHOD'] ?? '') === 'POST') {
        handle_form();
    }
    $url = plugins_url('assets/', PLUGIN_FILE);
    wp_enqueue_style('bookside', $url . 'admin.css', [], VERSION);
    wp_enqueue_script('bookside', $url . 'admin.js', ['wp-a11y', 'wp-i18n'], VERSION, true);
    wp_localize_script('bookside', 'bookside', ['copied' => __('Copied.', 'bookside')]);
}

/** Returns the tab that is asked for. */
function current_tab(): string
{
    $tab = isset($_GET['tab']) ? sanitize_key(wp_unslash($_GET['tab'])) : '';
    return array_key_exists($tab, tabs()) ? $tab : 'status';
}

/** Returns a number of the address of the page; 0 if it is missing. */
function asked_id(string $name): int
{
    return isset($_GET[$name]) ? absint(wp_unslash($_GET[$name])) : 0;
}

function show_page(): void
{
    $current = current_tab();
    echo '<div class="wrap bookside"><h1 class="wp-heading-inline">' . esc_html__('Booking API', 'bookside') . '</h1>';
    if ($current !== 'settings') { // where a wrong address of the server is corrected
        show_agenda_link();
    }
    echo '<hr class="wp-header-end">';
    echo '<nav class="nav-tab-wrapper" aria-label="' . esc_attr__('Sections of this page', 'bookside') . '">';
    foreach (tabs() as $tab => $about) {
        printf(
            '<a href="%s" class="nav-tab%s"%s>%s</a>',
            esc_url(page_url($tab)),
            $tab === $current ? ' nav-tab-active' : '',
            $tab === $current ? ' aria-current="page"' : '',
            esc_html($about[0])
        );
    }
    echo '</nav>';
    show_notices();
    call_user_func(tabs()[$current][1]);
    echo '</div>';
}

/** Shows a link to the agenda on the console, or how to open it where this browser may not reach the console. */
function show_agenda_link(): void
{
    $agenda = agenda();
    if (($agenda['path'] ?? '') === '') {
        return;
    }
    $url = agenda_url($agenda);
    if ($url !== '') {
        printf(' <a class="page-title-action" href="%s">%s</a>', esc_url($url), esc_html__('Agenda', 'bookside'));
    } else {
        echo '<p class="description">' . esc_html__('The agenda is on the console: run "bookside admin-token" on the server, which prints its address and a token. With "admin.base_url" in the configuration, this page links to it.', 'bookside') . '</p>';
    }
}

/**
 * Asks the server where the agenda is, once a minute: a server that does not answer would delay every page.
 *
 * @return array{address:string,path:string}|array{} Empty if the server does not say.
 */
function agenda(): array
{
    $server = settings()['admin'];
    $known = get_transient('bookside_agenda');
    if (!is_array($known) || $known['server'] !== $server) {
        $answer = ask_server('/console', null, 3);
        $known = ['server' => $server, 'agenda' => is_wp_error($answer) ? [] : $answer];
        set_transient('bookside_agenda', $known, MINUTE_IN_SECONDS);
    }
    return $known['agenda'];
}

/** Returns the address of the agenda; '' if browsers may not reach it: without an address of its own, the server must be on the host of this page. */
function agenda_url(array $agenda): string
{
    if ($agenda['address'] !== '') {
        return $agenda['address'] . $agenda['path'];
    }
    $host = fn($url) => str_replace(['127.0.0.1', '[::1]'], 'localhost', (string) wp_parse_url($url, PHP_URL_HOST));
    $server = settings()['admin'];
    return $server !== '' && $host($server) === $host(admin_url()) ? $server . $agenda['path'] : '';
}

/** Shows a link to a booking on the console, below its fields in LatePoint's form of an order. */
function show_booking_link(object $booking): void
{
    $id = (int) ($booking->id ?? 0);
    if ($id <= 0 || !current_user_can(capability())) { // new bookings have no id
        return;
    }
    $agenda = agenda();
    $url = ($agenda['path'] ?? '') === '' ? '' : agenda_url($agenda);
    if ($url !== '') {
        printf(
            '<p><a href="%s" target="_blank">%s<span class="screen-reader-text"> %s</span></a></p>',
            esc_url($url . '/' . $id),
            esc_html__('History and requests', 'bookside'),
            esc_html__('(opens in a new tab)', 'bookside')
        );
    }
}

/** Adds a link to the page to a row of the page Plugins. */
function add_action_link(array $links): array
{
    if (current_user_can(capability())) {
        $links['bookside'] = sprintf('<a href="%s">%s</a>', esc_url(page_url()), esc_html__('API', 'bookside'));
    }
    return $links;
}

/** Shows what a form did. */
function show_notices(): void
{
    $outcome = form_outcome();
    if ($outcome->errors->has_errors()) {
        echo '<div class="notice notice-error inline" role="alert" tabindex="-1" data-bookside-focus><p>';
        echo esc_html__('Nothing was saved. Please correct:', 'bookside') . '</p><ul>';
        foreach ($outcome->errors->get_error_codes() as $field) {
            $text = esc_html($outcome->errors->get_error_message($field));
            // A problem with the whole form has no field to link to.
            echo $field === 'form' ? '<li>' . $text . '</li>' : '<li><a href="#bookside-' . esc_attr((string) $field) . '">' . $text . '</a></li>'; // escaped above
        }
        echo '</ul></div>';
        return;
    }
    $texts = [
        'changed' => __('The key was changed. The change is in effect.', 'bookside'),
        'revoked' => __('The key was revoked. It is rejected from now on.', 'bookside'),
        'forgotten' => __('The failures were cleared.', 'bookside'),
        'again' => __('The plugins will be told about it again.', 'bookside'),
        'saved' => __('The settings were saved.', 'bookside'),
    ];
    $done = isset($_GET['done']) ? sanitize_key(wp_unslash($_GET['done'])) : '';
    if (isset($texts[$done]) && $outcome->secret === '') {
        echo '<div class="notice notice-success inline" role="status"><p>' . esc_html($texts[$done]) . '</p></div>';
    }
}
