<?php
define('DB_NAME', 'laptop');
