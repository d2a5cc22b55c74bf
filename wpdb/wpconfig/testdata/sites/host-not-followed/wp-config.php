<?php
define('DB_NAME', 'salon');
define('DB_USER', 'reader');
define('DB_PASSWORD', 'pw');
include $_SERVER['DOCUMENT_ROOT'] . '/../host.php';
$table_prefix = 'wp_';
require_once ABSPATH . 'wp-settings.php';
