<?php
define('DB_NAME', 'salon');
define('DB_USER', 'reader');
define('DB_PASSWORD', 'pw');
define('DB_HOST', '127.0.0.1');
require __DIR__ . '/table-prefix.php';
require_once __DIR__ . '/wp-settings.php';
