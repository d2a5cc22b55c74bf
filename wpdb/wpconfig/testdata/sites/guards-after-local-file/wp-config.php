<?php
@include dirname(__FILE__) . '/overrides.php';
defined('DB_NAME') or define('DB_NAME', 'production');
if (!defined('DB_USER')) {
    define('DB_USER', 'reader');
}
if (!defined('DB_PASSWORD')) define('DB_PASSWORD', 'pw');
defined('DB_HOST') || define('DB_HOST', 'db.example');
$table_prefix = 'wp_';
require_once __DIR__ . '/wp-settings.php';
