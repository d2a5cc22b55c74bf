<?php
define('DB_NAME', 'salon');
define('DB_USER', 'reader');
define('DB_PASSWORD', 'pw');
define('DB_HOST', '127.0.0.1');
define('DB_CHARSET', getenv('DB_CHARSET') ?: 'utf8mb4');
$table_prefix = 'salon_';
require_once ABSPATH . 'wp-settings.php';
