<?php
$table_prefix = "salon_";
