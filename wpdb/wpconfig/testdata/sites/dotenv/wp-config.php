<?php
require_once __DIR__ . '/vendor/autoload.php';
Dotenv\Dotenv::createImmutable(__DIR__)->load();
define('DB_NAME', 'salon');
define('DB_USER', 'reader');
define('DB_PASSWORD', 'pw');
$table_prefix = 'wp_';
require_once ABSPATH . 'wp-settings.php';
