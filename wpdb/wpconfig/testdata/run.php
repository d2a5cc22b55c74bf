<?php
/**
 * Runs the wp-config.php of each directory that standard input names, in a process of its own, as wp-load.php would, and
 * writes into the directory what WordPress would get.
 */

function report(string $dir, bool $settings): void
{
    $found = ['settings' => $settings, 'prefix' => $GLOBALS['table_prefix'] ?? null];
    foreach (['DB_NAME', 'DB_USER', 'DB_PASSWORD', 'DB_HOST', 'WP_SITEURL', 'WP_HOME', 'MULTISITE'] as $name) {
        $found[$name] = defined($name) ? constant($name) : null;
    }
    file_put_contents($dir . '/answer.json', json_encode($found, JSON_THROW_ON_ERROR));
}

while (($runs_in = fgets(STDIN)) !== false) {
    $runs_in = rtrim($runs_in, "\n");
    $runs_as = pcntl_fork();
    if ($runs_as === 0) {
        fclose(STDIN);
        chdir($runs_in);
        define('ABSPATH', $runs_in . '/');
        include $runs_in . '/wp-config.php';
        report($runs_in, false);
        exit;
    }
    pcntl_waitpid($runs_as, $runs_status);
}
