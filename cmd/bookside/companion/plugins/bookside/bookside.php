<?php

/**
 * Plugin Name: Bookside
 * Description: Shows the booking API that Bookside serves for LatePoint: status, keys, webhooks, changes and overlapping bookings.
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

defined('ABSPATH') || exit;

// An uploaded plugin brings the must-use plugin along. One in its own place was loaded before.
if (!defined('BOOKSIDE_COMPANION_VERSION')) {
    foreach (glob(__DIR__ . '/mu-plugins/*.php') ?: [] as $bookside_file) {
        require_once $bookside_file;
    }
}
