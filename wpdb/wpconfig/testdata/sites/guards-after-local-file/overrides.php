<?php
define('DB_NAME', 'rehearsal');
define('DB_HOST', '127.0.0.1');
