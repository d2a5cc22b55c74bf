<?php
if ( file_exists( dirname( __FILE__ ) . '/wp-config-here.php' ) ):
    include dirname( __FILE__ ) . '/wp-config-here.php';
else:
    define( 'DB_NAME', 'production' );
    define( 'DB_USER', 'reader' );
    define( 'DB_PASSWORD', 'pw' );
    define( 'DB_HOST', 'db.example' );
endif;
$table_prefix = 'wp_';
if ( ! defined( 'ABSPATH' ) ) {
    define( 'ABSPATH', __DIR__ . '/' );
}
require_once ABSPATH . 'wp-settings.php';
