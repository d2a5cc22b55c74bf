<?php
if (file_exists(__DIR__ . '/wp-config-here.php')) {
    include __DIR__ . '/wp-config-here.php';
} else {
    define('DB_NAME', 'production');
    define('DB_USER', 'reader');
    define('DB_PASSWORD', 'pw');
    define('DB_HOST', 'db.example');
}
$table_prefix = 'wp_';
require __DIR__ . '/wp-settings.php';
