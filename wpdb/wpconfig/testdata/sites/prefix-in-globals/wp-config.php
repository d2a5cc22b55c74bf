<?php
define('DB_NAME', 'salon');
define('DB_USER', 'reader');
define('DB_PASSWORD', 'pw');
define('DB_HOST', '127.0.0.1');
$GLOBALS['table_prefix'] = 'salon_';
require_once __DIR__ . '/wp-settings.php';
