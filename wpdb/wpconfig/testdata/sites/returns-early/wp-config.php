<?php
if (file_exists(__DIR__ . '/rehearsal.php')) {
    require __DIR__ . '/rehearsal.php';
    require_once __DIR__ . '/wp-settings.php';
    return;
}
define('DB_NAME', 'production');
define('DB_USER', 'reader');
define('DB_PASSWORD', 'pw');
define('DB_HOST', 'db.example');
$table_prefix = 'wp_';
require_once __DIR__ . '/wp-settings.php';
