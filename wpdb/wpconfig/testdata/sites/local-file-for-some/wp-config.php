<?php
if ($_SERVER['SERVER_NAME'] === 'localhost') {
    include __DIR__ . '/laptop.php';
}
define('DB_NAME', 'production');
define('DB_USER', 'reader');
define('DB_PASSWORD', 'pw');
define('DB_HOST', 'db.example');
$table_prefix = 'wp_';
require_once ABSPATH . 'wp-settings.php';
