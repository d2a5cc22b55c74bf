<?php
const DB_NAME = 'production', DB_USER = 'reader';
define('DB_PASSWORD', "p\$w");
require dirname(__DIR__) . '/config/host.php';
return ['anything'];
