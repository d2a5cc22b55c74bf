<?php
define('DB_NAME', 'salon');
define('DB_USER', 'reader');
define('DB_PASSWORD', 'pw');
define('DB_HOST', '127.0.0.1');
switch ($_SERVER['HTTP_HOST']) {
    case 'shop.example':
        $table_prefix = 'shop_';
        break;
    default:
        $table_prefix = 'wp_';
}
require_once ABSPATH . 'wp-settings.php';
