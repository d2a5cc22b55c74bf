<?php

defined('ABSPATH') || exit;

/**
 * Runs LatePoint's jobs, for example reminders, in WordPress's cron, because LatePoint itself does not.
 *
 * The event is scheduled once and again before each run, never as a recurring one, so that it ends by itself when
 * this file is removed.
 */
class BooksideJobs
{
    private const HOOK = 'latepoint_process_scheduled_jobs';
    private const INTERVAL = 300; // seconds
    private const LEASE = 900; // seconds for which a run that dies blocks others

    public static function register(): void
    {
        add_action('init', [self::class, 'schedule'], PHP_INT_MAX);
        add_filter('pre_unschedule_event', [self::class, 'unscheduled'], 10, 3);
        add_action('update_option_bookside_companion', [self::class, 'switched'], 10, 0);
        add_action('add_option_bookside_companion', [self::class, 'switched'], 10, 0);
    }

    /** Hooks and schedules the jobs, unless somebody else did. */
    public static function schedule(): void
    {
        if (bookside_companion_settings()['jobs'] && !has_action(self::HOOK)) {
            add_action(self::HOOK, [self::class, 'run']);
            if (self::next() === 0) {
                self::scheduleNext();
            }
        }
        if (has_action(self::HOOK)) {
            add_action(self::HOOK, [self::class, 'nameProcesses'], PHP_INT_MAX);
        }
    }

    /**
     * Gives sent mails of the API the process that they come from: LatePoint's list says of others that their process was
     * deleted. While they wait they have none, because LatePoint would not queue another mail of that process.
     */
    public static function nameProcesses(): void
    {
        global $wpdb;
        $jobs = $wpdb->prefix . 'latepoint_process_jobs';
        $quiet = $wpdb->suppress_errors(); // a site may lack the tables
        $known = [];
        foreach ($wpdb->get_results("SELECT id, process_info FROM `$jobs` WHERE process_id = 0 AND object_model_type = 'n/a' AND status <> 'scheduled' ORDER BY id DESC LIMIT 1000") ?: [] as $job) {
            $info = (array) json_decode((string) $job->process_info, true);
            $key = ($info['event_type'] ?? '') . ' ' . ($info['name'] ?? '');
            $known[$key] = $known[$key] ?? (int) $wpdb->get_var($wpdb->prepare(
                "SELECT MIN(id) FROM `{$wpdb->prefix}latepoint_processes` WHERE event_type = %s AND name = %s",
                (string) ($info['event_type'] ?? ''),
                (string) ($info['name'] ?? '')
            ));
            if ($known[$key] > 0) {
                $wpdb->update($jobs, ['process_id' => $known[$key]], ['id' => $job->id]);
            }
        }
        $wpdb->suppress_errors($quiet);
    }

    /** Takes the events of this class from the cron; those of an add-on recur. */
    public static function unschedule(): void
    {
        foreach ((array) _get_cron_array() as $time => $hooks) {
            foreach ($hooks[self::HOOK] ?? [] as $event) {
                if (empty($event['schedule'])) {
                    wp_unschedule_event((int) $time, self::HOOK, $event['args']);
                }
            }
        }
    }

    public static function switched(): void
    {
        if (!bookside_companion_settings()['jobs']) {
            self::unschedule();
        } elseif (did_action('init')) {
            self::schedule();
        }
    }

    /** Returns when the jobs run next (Unix time); 0 if nothing is scheduled. */
    public static function next(): int
    {
        foreach ((array) _get_cron_array() as $time => $hooks) {
            if (isset($hooks[self::HOOK])) {
                return (int) $time;
            }
        }
        return 0;
    }

    /** Each event has arguments of its own, because WordPress takes two that are alike and near for one. */
    private static function scheduleNext(): void
    {
        wp_schedule_single_event(time() + self::INTERVAL, self::HOOK, [wp_generate_uuid4()]);
    }

    /**
     * Schedules the next run before the current one is removed from the cron, so that there always is one: Bookside
     * only queues mails for a site that has it. If concurrent requests have scheduled two, only the last one
     * schedules the next.
     *
     * @param mixed $short
     * @param mixed $time
     * @param mixed $hook
     */
    public static function unscheduled($short, $time = 0, $hook = '')
    {
        $scheduled = 0;
        foreach ($hook === self::HOOK ? (array) _get_cron_array() : [] as $hooks) {
            $scheduled += count($hooks[self::HOOK] ?? []);
        }
        if ($scheduled === 1 && wp_doing_cron() && has_action(self::HOOK, [self::class, 'run'])) {
            self::scheduleNext();
        }
        return $short;
    }

    /** Runs the jobs, unless another process is doing so. */
    public static function run(): void
    {
        if (!class_exists('OsProcessJobsHelper')) {
            return;
        }
        bookside_companion_end_transaction('COMMIT'); // of a plugin, since WordPress was loaded
        if (!self::claim(0, time() + self::LEASE)) {
            return;
        }
        ob_start(); // LatePoint prints its actions
        try {
            OsProcessJobsHelper::process_scheduled_jobs();
        } catch (\Throwable $e) {
            bookside_companion_failed('jobs', bookside_companion_describe($e));
        } finally {
            ob_end_clean();
            $left = bookside_companion_end_transaction('COMMIT'); // what was sent is marked in it
            if ($left !== '') {
                bookside_companion_failed('jobs', "A plugin left $left while jobs ran.");
            }
            self::claim(PHP_INT_MAX, 0);
        }
    }

    /** Sets until when a process runs the jobs, if no claim is left that lasts longer. Reports whether it did. */
    private static function claim(int $unless, int $until): bool
    {
        global $wpdb;
        $wpdb->query(
            "INSERT IGNORE INTO `{$wpdb->options}` (option_name, option_value, autoload) VALUES ('bookside_companion_jobs_until', '0', 'no')"
        );
        return 1 === $wpdb->query(
            $wpdb->prepare(
                "UPDATE `{$wpdb->options}` SET option_value = %d WHERE option_name = 'bookside_companion_jobs_until' AND option_value <= %d",
                $until,
                $unless === 0 ? time() : $unless
            )
        );
    }
}
