<?php
function settings_of_a_laptop()
{
    define('DB_NAME', 'laptop');
    define('DB_USER', 'me');
    define('DB_PASSWORD', 'me');
    define('DB_HOST', 'localhost');
}
foreach (parse_ini_file(__DIR__ . '/database.ini') as $name => $value) {
    define($name, $value);
}
$table_prefix = 'wp_';
require_once __DIR__ . '/wp-settings.php';
