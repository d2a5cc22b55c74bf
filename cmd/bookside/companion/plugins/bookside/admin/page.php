<?php

/**
 * The page "API" below LatePoint's menu: the console of the server, and the settings of the companion.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/** The nonce of every form of the console. */
const NONCE = 'bookside';

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

/** Adds a link to the page to a row of the page Plugins. */
function add_action_link(array $links): array
{
    if (current_user_can(capability())) {
        $links['bookside'] = sprintf('<a href="%s">%s</a>', esc_url(page_url()), esc_html__('API', 'bookside'));
    }
    return $links;
}

/** Runs before anything is sent: hands a form to the server, or asks it for a page. */
function prepare_page(): void
{
    if (!current_user_can(capability())) {
        wp_die(esc_html__('You are not allowed to do this.', 'bookside'), '', ['response' => 403]);
    }
    $posts = ($_SERVER['REQUEST_METHOD'] ?? '') === 'POST';
    if ($posts) {
        check_admin_referer(NONCE);
    }
    if ($posts && isset($_POST['bookside_forget'])) {
        bookside_companion_clear_failures();
        wp_safe_redirect(page_url());
        exit;
    }
    if (shows_settings()) {
        return;
    }
    $page = console_page(ask_server('/page', [
        'method' => $posts ? 'POST' : 'GET',
        'path' => asked_path(),
        'form' => $posts ? (string) file_get_contents('php://input') : '',
        'user_id' => get_current_user_id(),
        'login' => (string) wp_get_current_user()->user_login,
        'language' => str_replace('_', '-', get_user_locale()),
        'address' => page_url(),
        'nonce' => wp_create_nonce(NONCE),
    ]));
    if (is_wp_error($page)) {
        return;
    }
    if (!empty($page['location'])) {
        wp_safe_redirect($page['location']);
        exit;
    }
    add_filter('admin_title', fn($title) => $page['title'] . ' ‹ ' . $title);
}

/**
 * Returns the page that the server answered.
 *
 * @param array<string,mixed>|\WP_Error|null $answer Keeps it.
 * @return array<string,mixed>|\WP_Error
 */
function console_page($answer = null)
{
    static $page = [];
    $page = $answer ?? $page;
    return $page;
}

/** Reports whether the settings are asked for. */
function shows_settings(): bool
{
    return isset($_GET['tab']) && $_GET['tab'] === 'settings'; // phpcs:ignore -- compared
}

/** Returns the path and the query of the page of the console that is asked for. */
function asked_path(): string
{
    $path = isset($_GET['at']) && is_string($_GET['at']) ? wp_unslash($_GET['at']) : ''; // phpcs:ignore -- the server looks for it
    $query = array_filter(explode('&', (string) ($_SERVER['QUERY_STRING'] ?? '')), fn($pair) => !preg_match('/^(page|at)?(=|$)/', $pair)); // phpcs:ignore
    return $path . ($query ? (strpos($path, '?') === false ? '?' : '&') . implode('&', $query) : '');
}

function show_page(): void
{
    echo '<div class="wrap"><h1 class="wp-heading-inline">' . esc_html__('Booking API', 'bookside') . '</h1>';
    printf(' <a class="page-title-action" href="%s">%s</a>', esc_url(shows_settings() ? page_url() : settings_url()), shows_settings() ? esc_html__('Console', 'bookside') : esc_html__('Settings', 'bookside'));
    echo '<hr class="wp-header-end">';
    show_failures();
    if (shows_settings()) {
        show_settings();
    } elseif (is_wp_error(console_page())) {
        printf(
            '<div class="notice notice-warning inline" role="status"><p><strong>%s</strong> %s</p></div>',
            esc_html__('The server of the booking API does not do this at the moment.', 'bookside'),
            esc_html(console_page()->get_error_message())
        );
    } else {
        echo console_page()['content']; // phpcs:ignore -- the server's HTML, whose signature was checked
    }
    echo '</div>';
}

/** Shows what failed in the companion, until somebody has seen it. */
function show_failures(): void
{
    if (!bookside_companion_failures()) {
        return;
    }
    [$title, $text] = failures_text();
    printf('<div class="notice notice-error inline" role="status"><p><strong>%s</strong> %s</p><form method="post"><p>', esc_html($title), esc_html($text));
    wp_nonce_field(NONCE);
    printf('<button type="submit" class="button" name="bookside_forget" value="1">%s</button></p></form></div>', esc_html__('Clear the failures', 'bookside'));
}
