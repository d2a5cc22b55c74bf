<?php
define('WP_ENV', 'production');
require_once 'config/' . WP_ENV . '.php';
define('DB_CHARSET', 'utf8mb4');
$table_prefix = 'wp_';
define('WP_CONTENT_DIR', __DIR__ . '/content');
require_once ABSPATH . 'wp-settings.php';
