<?php
// Makes the sample practice a whole WordPress, for compose.yml: the tables, options and roles that it
// lacks, LatePoint from wordpress.org, and a password for its administrator. Does nothing twice.

define( 'WP_INSTALLING', true ); // no plugin is loaded: LatePoint is listed, but not there yet
const ADDRESS = 'http://127.0.0.1:8000';
$_SERVER['HTTP_HOST'] = '127.0.0.1:8000'; // WordPress asks for it

// Nobody is told of the new site by mail.
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
