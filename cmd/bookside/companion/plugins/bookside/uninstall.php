<?php

/**
 * Deletes what the plugin stored when it is deleted. The tables are Bookside's own and stay.
 *
 * @package Bookside
 */

defined('WP_UNINSTALL_PLUGIN') || exit;

wp_unschedule_hook('latepoint_process_scheduled_jobs');
foreach (['', '_failures', '_seen', '_jobs_until'] as $bookside_option) {
    delete_option('bookside_companion' . $bookside_option);
}
