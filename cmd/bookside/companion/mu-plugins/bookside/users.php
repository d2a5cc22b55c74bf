<?php

defined('ABSPATH') || exit;

/**
 * Drops users from a persistent object cache when the API has changed a customer, according to the journal: the server writes
 * to the database, and a password reset must not go to the user's old address.
 */
class BooksideUsers
{
    private const GROUP = 'bookside';
    private const PATIENCE = 10; // seconds between checks, in requests that only read
    private const MOST = 500; // changes per check

    public static function register(): void
    {
        if (wp_using_ext_object_cache()) {
            add_action('init', [self::class, 'refresh'], 0);
        }
    }

    /** Looks into the journal: at once where a request may act on what it finds, else now and then. */
    public static function refresh(): void
    {
        global $wpdb;
        $seen = wp_cache_get('journal', self::GROUP);
        $seen = is_array($seen) ? $seen : ['number' => 0, 'at' => 0];
        $reads = in_array($_SERVER['REQUEST_METHOD'] ?? 'POST', ['GET', 'HEAD'], true); // phpcs:ignore -- compared
        if ($reads && time() - $seen['at'] < self::PATIENCE) {
            return;
        }
        $own = $wpdb->prefix . 'bookside_';
        $quiet = $wpdb->suppress_errors(); // without the server there are no tables
        $last = (int) $wpdb->get_var("SELECT MAX(number) FROM `{$own}changes`");
        $users = $wpdb->get_col($wpdb->prepare(
            "SELECT DISTINCT c.wordpress_user_id FROM `{$wpdb->prefix}latepoint_customers` c JOIN ("
            . "(SELECT resource_id FROM `{$own}changes` WHERE number > %d AND resource = 'customers' AND origin = 'api' ORDER BY number DESC LIMIT %d)"
            . " UNION (SELECT resource_id FROM `{$own}change_inbox` WHERE resource = 'customers' AND origin = 'api' LIMIT %d)"
            . ') e ON e.resource_id = c.id WHERE c.wordpress_user_id > 0',
            $last < $seen['number'] ? 0 : $seen['number'], // an emptied journal begins again
            self::MOST,
            self::MOST
        ));
        $wpdb->suppress_errors($quiet);
        foreach (array_map('intval', $users) as $user) {
            clean_user_cache($user);
            wp_cache_delete($user, 'user_meta'); // names
        }
        wp_cache_set('journal', ['number' => $last, 'at' => time()], self::GROUP);
    }
}
