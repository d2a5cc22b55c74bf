<?php

defined('ABSPATH') || exit;

/**
 * Says on the Plugins page that this must-use plugin is active although the plugin Bookside, which has the pages, is not, and
 * offers to remove it.
 */
class BooksideAlone
{
    private const PLUGIN = 'bookside/bookside.php';
    private const ACTION = 'bookside_remove_must_use';

    public static function register(): void
    {
        add_action('load-plugins.php', [self::class, 'load']);
    }

    public static function load(): void
    {
        if (is_plugin_active(self::PLUGIN) || !current_user_can('activate_plugins')) {
            return;
        }
        load_textdomain('bookside', WP_PLUGIN_DIR . '/bookside/languages/bookside-' . determine_locale() . '.mo');
        $failed = false;
        if (isset($_POST[self::ACTION]) && self::removable()) {
            check_admin_referer(self::ACTION);
            if (self::remove()) {
                wp_safe_redirect(self_admin_url('plugins.php'));
                exit;
            }
            $failed = true;
        }
        add_action('admin_notices', static function () use ($failed): void {
            self::show($failed);
        });
    }

    /** Reports whether this user may remove the file. On a network it may serve other sites. */
    private static function removable(): bool
    {
        return !is_multisite() && current_user_can('delete_plugins') && wp_is_file_mod_allowed('bookside_remove');
    }

    /** Returns the file that WordPress loads. */
    private static function main(): string
    {
        return dirname(__DIR__) . '/bookside.php';
    }

    /** Deletes the must-use plugin, and what nobody would run then. */
    private static function remove(): bool
    {
        if (!@unlink(self::main())) { // phpcs:ignore -- the failure is shown
            return false;
        }
        foreach (glob(__DIR__ . '/*.php') ?: [] as $file) {
            @unlink($file); // phpcs:ignore -- nothing loads it any more
        }
        @rmdir(__DIR__); // phpcs:ignore -- it may have files of others
        BooksideJobs::unschedule();
        delete_option('bookside_companion_seen');
        return true;
    }

    private static function show(bool $failed): void
    {
        echo '<div class="notice notice-warning"><p>';
        echo esc_html__(
            'Bookside is not active, but its must-use plugin is at work: it prevents two customers from booking the same slot, records changes in the journal, and runs jobs and forwards requests as the settings say. Activate Bookside to see its pages.',
            'bookside'
        );
        echo '</p>';
        if ($failed || !self::removable()) {
            /* translators: %s: a path. */
            printf('<p>%s</p>', esc_html(sprintf(__('To remove the must-use plugin, delete %s on the server, or run "bookside companion remove" there.', 'bookside'), self::main())));
        } else {
            echo '<form method="post"><p>';
            wp_nonce_field(self::ACTION);
            printf('<button type="submit" class="button" name="%s" value="1">%s</button></p></form>', esc_attr(self::ACTION), esc_html__('Remove the must-use plugin', 'bookside'));
        }
        echo '</div>';
    }
}
