<?php

/**
 * Plugin Name: Stands in for Pro Features, as far as bookings take assets.
 */

defined('ABSPATH') || exit;

foreach (['latepoint_booking_created', 'latepoint_booking_updated'] as $action) {
    add_action($action, static function ($booking): void {
        global $wpdb;
        $prefix = $wpdb->prefix . 'latepoint_';
        $assets = $wpdb->get_col($wpdb->prepare(
            "SELECT x.asset_id FROM {$prefix}services_assets x WHERE x.service_id = %d AND (x.asset_id IN (SELECT asset_id FROM {$prefix}agents_assets WHERE agent_id = %d) "
            . "OR NOT EXISTS (SELECT 1 FROM {$prefix}agents_assets a WHERE a.asset_id = x.asset_id))",
            $booking->service_id,
            $booking->agent_id
        ));
        $wpdb->delete($prefix . 'bookings_assets', ['booking_id' => $booking->id]);
        foreach ($assets as $asset) {
            $wpdb->insert($prefix . 'bookings_assets', ['booking_id' => $booking->id, 'asset_id' => $asset]);
        }
    }, 9);
}
