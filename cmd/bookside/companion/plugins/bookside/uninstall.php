<?php

/**
 * Deletes the plugin's data when it is deleted. Bookside's tables stay.
 *
 * @package Bookside
 */

defined('WP_UNINSTALL_PLUGIN') || exit;

$bookside_forget = static function (): void {
    foreach ((array) _get_cron_array() as $time => $hooks) {
        foreach ($hooks['latepoint_process_scheduled_jobs'] ?? [] as $event) {
            if (empty($event['schedule'])) { // those of an add-on recur
                wp_unschedule_event((int) $time, 'latepoint_process_scheduled_jobs', $event['args']);
            }
        }
    }
    foreach (['', '_extensions', '_failures', '_seen', '_jobs_until', '_events'] as $option) {
        delete_option('bookside_companion' . $option);
    }
};
if (is_multisite()) {
    foreach (get_sites(['fields' => 'ids', 'number' => 0]) as $bookside_site) {
        switch_to_blog($bookside_site);
        $bookside_forget();
        restore_current_blog();
    }
} else {
    $bookside_forget();
}
