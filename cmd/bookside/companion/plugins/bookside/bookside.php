<?php

/**
 * Plugin Name: Bookside
 * Description: Shows the console of Bookside, the server of the booking API for LatePoint, and prevents two bookings in one slot.
 * Version: 0.2.0
 * Requires at least: 6.1
 * Requires PHP: 7.4
 * Author: The Bookside authors
 * License: GPL-2.0-or-later
 * License URI: https://www.gnu.org/licenses/gpl-2.0.html
 * Text Domain: bookside
 * Domain Path: /languages
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

const VERSION = '0.2.0';
const PLUGIN_FILE = __FILE__;

// An uploaded plugin includes the must-use plugin. An installed one was loaded earlier.
if (!defined('BOOKSIDE_COMPANION_VERSION')) {
    foreach (glob(__DIR__ . '/mu-plugins/*.php') ?: [] as $bookside_file) {
        require_once $bookside_file;
    }
    unset($bookside_file);
}

require_once __DIR__ . '/includes/tables.php';
require_once __DIR__ . '/includes/settings.php';
require_once __DIR__ . '/includes/server.php';
require_once __DIR__ . '/includes/health.php';
require_once __DIR__ . '/includes/mentions.php';
require_once __DIR__ . '/includes/person.php';
require_once __DIR__ . '/includes/privacy.php';

add_action('init', function () {
    load_plugin_textdomain('bookside', false, dirname(plugin_basename(PLUGIN_FILE)) . '/languages');
});

add_filter('site_status_tests', __NAMESPACE__ . '\\add_health_test');
add_filter('wp_privacy_personal_data_exporters', __NAMESPACE__ . '\\add_exporter');
add_filter('wp_privacy_personal_data_erasers', __NAMESPACE__ . '\\add_eraser');
register_activation_hook(PLUGIN_FILE, __NAMESPACE__ . '\\activate');
register_deactivation_hook(PLUGIN_FILE, __NAMESPACE__ . '\\deactivate');

if (is_admin()) {
    require_once __DIR__ . '/admin/page.php';
    require_once __DIR__ . '/admin/settings.php';
    add_action('admin_menu', __NAMESPACE__ . '\\add_page', 20);
    add_action('admin_init', __NAMESPACE__ . '\\add_settings');
    add_filter('plugin_action_links_' . plugin_basename(PLUGIN_FILE), __NAMESPACE__ . '\\add_action_link');
    add_filter('plugin_action_links_latepoint/latepoint.php', __NAMESPACE__ . '\\add_action_link');
}
