<?php

defined('ABSPATH') || exit;

/**
 * Tells the server which code listens to LatePoint's hooks: its effects happen on the site, but not in bookings by the API.
 *
 * It looks at the end of a visitor's request, because some plugins only listen in wp-admin, or not in the cron.
 */
class BooksideExtensions
{
    private const TOLD = 'bookside_companion_extensions'; // option: what was last reported, when, and the number of listeners

    public static function register(): void
    {
        add_action('shutdown', [self::class, 'look'], 0);
        add_action('upgrader_process_complete', [self::class, 'forget'], 10, 0);
    }

    public static function forget(): void
    {
        delete_option(self::TOLD);
    }

    /** Tells it when plugins have changed, and once a day, because snippets of code come without a plugin. */
    public static function look(): void
    {
        if (is_admin() || wp_doing_cron() || wp_installing() || !isset($_SERVER['REQUEST_METHOD']) || !did_action('wp_loaded')) {
            return;
        }
        $network = is_multisite() ? get_site_option('active_sitewide_plugins') : [];
        $there = md5(serialize([get_option('active_plugins'), $network, is_dir(WPMU_PLUGIN_DIR) ? filemtime(WPMU_PLUGIN_DIR) : 0, get_stylesheet(), BOOKSIDE_COMPANION_VERSION]));
        [$told, $at] = explode(' ', get_option(self::TOLD, '') . ' 0');
        if ($told === $there && time() - (int) $at < DAY_IN_SECONDS) {
            return;
        }
        update_option(self::TOLD, $there . ' ' . time() . ' ' . self::tell());
    }

    /** Writes the report, which replaces the one before, and returns how many listeners are in it. */
    public static function tell(): int
    {
        global $wpdb;
        $report = self::report();
        $quiet = $wpdb->suppress_errors(); // a server of an earlier version has no such table
        $wpdb->query($wpdb->prepare(
            "REPLACE INTO `{$wpdb->prefix}bookside_extensions` (id, reported_at, plugins) VALUES (1, UTC_TIMESTAMP(), %s)",
            wp_json_encode($report, JSON_INVALID_UTF8_SUBSTITUTE)
        ));
        $wpdb->suppress_errors($quiet);
        return array_sum(array_map('count', array_column($report, 'listeners')));
    }

    /**
     * Returns the plugins and other code that listen, and the add-ons that do not.
     *
     * @return array<int,array{plugin:string,title:string,listeners:array<int,array{hook:string,callback:string,priority:int}>}>
     */
    public static function report(): array
    {
        $found = [];
        foreach (self::files() as $file) {
            $plugin = self::folder($file);
            if (strpos($plugin, 'latepoint-') === 0) {
                $found[$plugin] = ['plugin' => $plugin, 'title' => self::title($file, $plugin), 'listeners' => []];
            }
        }
        foreach (self::listeners() as [$plugin, $listener]) {
            $found[$plugin] = $found[$plugin] ?? ['plugin' => $plugin, 'title' => self::titleOf($plugin), 'listeners' => []];
            $found[$plugin]['listeners'][] = $listener;
        }
        return array_values($found);
    }

    /** Returns the main files of the active plugins, with their paths. */
    private static function files(): array
    {
        $network = is_multisite() ? wp_get_active_network_plugins() : [];
        return array_merge($network, wp_get_active_and_valid_plugins());
    }

    /** Returns the listeners of others, each with the code that it belongs to. */
    private static function listeners(): array
    {
        global $wp_filter;
        $listeners = [];
        foreach ($wp_filter as $hook => $filter) {
            if (strpos((string) $hook, 'latepoint_') !== 0 && $hook !== 'set_order_intent_data_from_cart') {
                continue;
            }
            foreach ($filter->callbacks as $priority => $callbacks) {
                foreach ($callbacks as $callback) {
                    [$file, $name] = self::where($callback['function']);
                    $plugin = self::folder($file);
                    if ($name !== '' && !in_array($plugin, ['bookside', 'mu-plugins/bookside', 'mu-plugins/bookside.php', self::latepoint()], true)) {
                        $listeners[] = [$plugin, ['hook' => (string) $hook, 'callback' => $name, 'priority' => (int) $priority]];
                    }
                }
            }
        }
        return $listeners;
    }

    private static function latepoint(): string
    {
        return defined('LATEPOINT_ABSPATH') ? basename(LATEPOINT_ABSPATH) : 'latepoint';
    }

    /**
     * Returns the file of a callback, '' for one of PHP's own, and its name, '' if there is no such function.
     *
     * @param callable|mixed $callback As it was hooked, callable or not.
     * @return array{0:string,1:string}
     */
    private static function where($callback): array
    {
        $callback = is_string($callback) && strpos($callback, '::') ? explode('::', $callback, 2) : $callback;
        try {
            if (is_array($callback)) {
                $class = is_object($callback[0]) ? get_class($callback[0]) : $callback[0];
                return [(string) (new ReflectionMethod($callback[0], $callback[1]))->getFileName(), $class . '::' . $callback[1]];
            }
            if (is_object($callback) && !$callback instanceof Closure) {
                return [(string) (new ReflectionClass($callback))->getFileName(), get_class($callback)];
            }
            return [(string) (new ReflectionFunction($callback))->getFileName(), is_string($callback) ? $callback : 'closure'];
        } catch (\Throwable $unknown) {
            return ['', ''];
        }
    }

    /** Returns what a file belongs to: the folder of a plugin, or its file; mu-plugins/FILE; theme/FOLDER; or elsewhere. */
    private static function folder(string $file): string
    {
        global $wp_plugin_paths;
        $file = wp_normalize_path($file);
        foreach ((array) $wp_plugin_paths as $folder => $real) { // links
            if (strpos($file, $real . '/') === 0) {
                $file = $folder . substr($file, strlen($real));
            }
        }
        foreach (['mu-plugins/' => WPMU_PLUGIN_DIR, '' => WP_PLUGIN_DIR, 'theme/' => get_theme_root()] as $kind => $root) {
            foreach ([wp_normalize_path($root), wp_normalize_path((string) realpath($root))] as $path) {
                if ($path !== '' && strpos($file, $path . '/') === 0) {
                    return $kind . explode('/', substr($file, strlen($path) + 1))[0];
                }
            }
        }
        return 'elsewhere';
    }

    /** Returns the title of what folder returns. */
    private static function titleOf(string $plugin): string
    {
        if (strpos($plugin, 'theme/') === 0) {
            return (string) wp_get_theme(substr($plugin, 6))->get('Name');
        }
        foreach (self::files() as $file) {
            if (self::folder($file) === $plugin) {
                return self::title($file, $plugin);
            }
        }
        $file = WP_CONTENT_DIR . '/' . $plugin;
        return is_file($file) ? self::title($file, $plugin) : $plugin;
    }

    private static function title(string $file, string $plugin): string
    {
        return get_file_data($file, ['title' => 'Plugin Name'])['title'] ?: $plugin;
    }
}
