<?php
// Turns the sample practice into a complete WordPress, for compose.yml: it adds the missing tables,
// options and roles, LatePoint from wordpress.org, and a password for the administrator. It can be run
// repeatedly.

define( 'WP_INSTALLING', true ); // loads no plugin: LatePoint is active, but not installed yet
const ADDRESS = 'http://127.0.0.1:8000';
$_SERVER['HTTP_HOST'] = '127.0.0.1:8000'; // required by WordPress

// No mail about the new site.
function wp_new_blog_notification() {}

require '/var/www/html/wp-load.php';
require ABSPATH . 'wp-admin/includes/admin.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';

if ( ! get_option( 'db_version' ) ) {
	$site = wp_install( get_option( 'blogname' ), 'office', get_option( 'admin_email' ), false );
	wp_set_password( 'sample', $site['user_id'] );
	update_option( 'siteurl', ADDRESS );
	update_option( 'home', ADDRESS );
}

if ( ! is_dir( WP_PLUGIN_DIR . '/latepoint' ) ) {
	require ABSPATH . 'wp-admin/includes/class-wp-upgrader.php';
	$skin = new Automatic_Upgrader_Skin();
	if ( true !== ( new Plugin_Upgrader( $skin ) )->install( getenv( 'LATEPOINT' ) ) ) {
		fwrite( STDERR, 'LatePoint cannot be installed: ' . implode( ' ', $skin->get_upgrade_messages() ) . "\n" );
		exit( 1 );
	}
	deactivate_plugins( 'latepoint/latepoint.php', true );
	$active = activate_plugin( 'latepoint/latepoint.php' );
	if ( is_wp_error( $active ) ) {
		fwrite( STDERR, 'LatePoint cannot be activated: ' . $active->get_error_message() . "\n" );
		exit( 1 );
	}
}

echo 'WordPress is at ', ADDRESS, "/wp-admin/: log in as office with the password sample\n";
