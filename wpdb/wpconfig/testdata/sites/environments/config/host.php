<?php
define('DB_HOST', 'db' . '.' . "example");
