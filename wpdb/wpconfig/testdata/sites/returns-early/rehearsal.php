<?php
define('DB_NAME', 'rehearsal');
define('DB_USER', 'tester');
define('DB_PASSWORD', 'tpw');
define('DB_HOST', '127.0.0.1');
$table_prefix = 're_';
