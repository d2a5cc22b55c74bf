<?php

defined('ABSPATH') || exit;

/**
 * Tells the site's extensions about changes by the API: fires LatePoint's actions for their listeners, with models read from the database.
 * LatePoint's own log is left out, because the server has written it. Messages follow once extensions are told, unless the server has already sent them.
 * adapter/extensions in Bookside queues the events.
 */
class BooksideEvents
{
    /** The option in which the server finds the events that somebody listens to. */
    private const OPTION = 'bookside_companion_events';

    /** Actions of LatePoint, without their prefix, by event. */
    private const ACTIONS = [
        'customer_created' => ['customer_created'],
        'customer_updated' => ['customer_updated'],
        'booking_created' => ['booking_created'],
        'booking_updated' => ['booking_updated', 'booking_change_status'],
        'booking_will_be_deleted' => ['booking_will_be_deleted'],
        'booking_deleted' => ['booking_deleted'],
        'order_created' => ['order_created'],
        'order_updated' => ['order_updated'],
        'transaction_created' => ['transaction_created'],
    ];

    /** What is noted beside the events if LatePoint is to send messages itself, because something is added to it. */
    private const MESSAGES = 'messages';

    /** Hooks through which plugins add to messages, or send them. */
    private const MESSAGE_HOOKS = '/^latepoint_(replace_|prepare_replacement_vars_from_|process_action_run|process_prepare_data_for_run|notifications_send_|model_view_as_)/';

    /** Types of events in LatePoint's workflows, by event. */
    private const TYPES = [
        'customer_created' => ['customer_created'],
        'booking_created' => ['booking_created', 'booking_start', 'booking_end'],
        'booking_updated' => ['booking_updated', 'booking_start', 'booking_end'],
        'order_created' => ['order_created'],
        'order_updated' => ['order_updated'],
        'transaction_created' => ['transaction_created'],
    ];

    private const MODELS = ['customer' => 'OsCustomerModel', 'booking' => 'OsBookingModel', 'order' => 'OsOrderModel', 'transaction' => 'OsTransactionModel'];

    /** What is fired of an event that was begun before: whoever got it might act twice, but knows how to update. */
    private const AGAIN = ['customer_created' => 'customer_updated', 'booking_created' => 'booking_updated', 'order_created' => 'order_updated'];

    /** Classes of LatePoint that log, write messages and count, which the server does. */
    private const OWN = ['OsActivitiesHelper', 'OsProcessJobsHelper', 'OsAnalyticsHelper', 'OsAnalyticsProHelper'];

    private const TRIES = 3;
    private const TIME = 40; // seconds during which new events are started
    private const WAIT = 5; // seconds for another process that tells about the same deletion

    /** @var string[] What listeners threw. */
    private static array $failures = [];

    /** @var array<string,bool> Actions that only extensions get. */
    private static array $guarded = [];

    public static function register(): void
    {
        add_action('wp_loaded', [self::class, 'note'], PHP_INT_MAX - 1);
        BooksideAsk::about('events', [self::class, 'fireAll']);
        BooksideAsk::about('booking_will_be_deleted', [self::class, 'willBeDeleted'], [self::class, 'lockDeletion']);
    }

    /** Notes which events somebody listens to. Plugins may listen in wp-admin to more, which the API has nothing to do with. */
    public static function note(): void
    {
        if (is_admin() || wp_doing_cron() || wp_installing() || !class_exists('OsBookingModel')) {
            return;
        }
        $events = [];
        foreach (self::ACTIONS as $event => $actions) {
            foreach ($actions as $action) {
                if (self::listeners($action) !== []) {
                    $events[$event] = $event;
                }
            }
        }
        if (($events !== [] || self::addsToMessages()) && method_exists('OsProcessJobsHelper', 'create_jobs_for_process')) {
            $events[] = self::MESSAGES;
        }
        $text = implode(' ', $events);
        if (get_option(self::OPTION, null) !== $text) {
            update_option(self::OPTION, $text, true);
        }
    }

    /** Reports whether somebody adds to messages, or sends them. */
    private static function addsToMessages(): bool
    {
        global $wp_filter;
        foreach ($wp_filter as $hook => $filter) {
            if (strncmp((string) $hook, 'latepoint_', 10) === 0 && preg_match(self::MESSAGE_HOOKS, $hook) && self::listeners(substr($hook, 10)) !== []) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns the callbacks of an action that are neither in OWN nor in the companion.
     *
     * @return array<int,array<string,array>> By priority and key.
     */
    private static function listeners(string $action): array
    {
        global $wp_filter;
        $found = [];
        foreach (isset($wp_filter["latepoint_$action"]) ? $wp_filter["latepoint_$action"]->callbacks : [] as $priority => $callbacks) {
            foreach ($callbacks as $key => $callback) {
                $function = $callback['function'];
                $class = is_array($function) ? (is_object($function[0]) ? get_class($function[0]) : $function[0]) : (is_string($function) ? strstr($function, '::', true) : '');
                if (!in_array($class, self::OWN, true) && strncmp((string) $class, 'Bookside', 8) !== 0) {
                    $found[$priority][$key] = $callback;
                }
            }
        }
        return $found;
    }

    /**
     * Fires the actions of waiting events, one after the other. Only one process does so at a time.
     *
     * @return array{done:int,failed:int,more:bool}
     */
    public static function fireAll(): array
    {
        global $wpdb;
        $lock = substr('bookside_events_' . hash('sha256', DB_NAME . ' ' . $wpdb->prefix), 0, 64);
        if ((string) $wpdb->get_var($wpdb->prepare('SELECT GET_LOCK(%s, 0)', $lock)) !== '1') {
            return ['done' => 0, 'failed' => 0, 'more' => false]; // the other process continues
        }
        bookside_companion_end_transaction('COMMIT'); // of a plugin, since WordPress was loaded
        $count = ['done' => 0, 'failed' => 0, 'more' => false];
        $until = time() + self::TIME;
        try {
            while ($event = self::next($lock)) {
                if (time() >= $until) {
                    $count['more'] = true;
                    break;
                }
                $fired = self::fireOne($event);
                if ($fired === null) {
                    break;
                }
                $count[$fired ? 'done' : 'failed']++;
            }
        } finally {
            $wpdb->get_var($wpdb->prepare('SELECT RELEASE_LOCK(%s)', $lock));
        }
        return $count;
    }

    /** Returns the name of the lock of a process that tells extensions that a booking will be deleted, without the id. */
    private static function deletes(): string
    {
        global $wpdb;
        return 'bookside_deletes_' . substr(hash('sha256', DB_NAME . ' ' . $wpdb->prefix), 0, 24) . '_';
    }

    /**
     * Returns the first event that waits, or was started by a process that has died: while this one has the lock, which a lost connection
     * takes away, there is no other. A booking's events wait while extensions are told that it will be deleted: it may stay, and what they are told last holds.
     */
    private static function next(string $lock): ?object
    {
        global $wpdb;
        return $wpdb->get_row($wpdb->prepare(
            "SELECT * FROM `{$wpdb->prefix}bookside_events` WHERE status IN ('waiting', 'started') AND IS_USED_LOCK(%s) = CONNECTION_ID()"
                . " AND (event NOT LIKE 'booking%%' OR IS_USED_LOCK(CONCAT(%s, record_id)) IS NULL) ORDER BY id LIMIT 1",
            $lock,
            self::deletes()
        ));
    }

    /** Fires the actions of an event. Reports whether nobody failed, or null if the event is another process's, or cannot be marked. */
    private static function fireOne(object $event): ?bool
    {
        global $wpdb;
        $table = "`{$wpdb->prefix}bookside_events`";
        $died = $event->status === 'started';
        $begun = (int) $event->tries > 0; // by a process that died, or before it was sent again on request
        // Marked first, so that whatever happens, nobody gets it as new a second time.
        $mark = "UPDATE $table SET status = 'started', tries = tries + 1 WHERE id = %d AND status = %s AND tries = %d";
        if ($wpdb->query($wpdb->prepare($mark, $event->id, $event->status, $event->tries)) !== 1) {
            return null;
        }
        self::$failures = [];
        $name = $begun ? (self::AGAIN[$event->event] ?? $event->event) : $event->event;
        if ($died && ((int) $event->tries >= self::TRIES || $name === 'transaction_created')) {
            self::$failures[] = 'The process of PHP died.';
        } else {
            try {
                self::fire($name, $event);
            } catch (\Throwable $e) {
                self::$failures[] = bookside_companion_describe($e);
            }
        }
        try {
            self::send($event);
        } catch (\Throwable $e) {
            self::$failures[] = bookside_companion_describe($e);
        }
        $left = bookside_companion_end_transaction('COMMIT'); // LatePoint's jobs are in it
        if ($left !== '') {
            self::$failures[] = "A plugin left $left while messages were sent.";
        }
        $failure = bookside_companion_storable(implode('; ', self::$failures), "{$wpdb->prefix}bookside_events", 'failure');
        if ($failure !== '') { // by itself: WordPress refuses a query with letters that are not ASCII to a table in which some columns are
            $wpdb->update("{$wpdb->prefix}bookside_events", ['failure' => $failure], ['id' => $event->id]);
        }
        $ended = $wpdb->query($wpdb->prepare(
            "UPDATE $table SET status = %s, old = NULL, due_at = UTC_TIMESTAMP(), finished_at = UTC_TIMESTAMP() WHERE id = %d",
            $failure === '' ? 'done' : 'failed',
            $event->id
        ));
        if ($failure !== '') {
            bookside_companion_failed('events', $event->event . ' ' . $event->record_id . ': ' . $failure);
        }
        return $ended === false ? null : $failure === '';
    }

    private static function fire(string $name, object $event): void
    {
        if ($name === 'booking_deleted') {
            self::tell('booking_deleted', (int) $event->record_id);
            return;
        }
        $kind = strstr($name, '_', true);
        [$new, $old] = self::models($name, $event);
        if ($new === null) {
            return; // the event of that follows
        }
        if ($old === null) {
            self::tell($name, $new);
            return;
        }
        self::tell($name, $new, $kind === 'customer' ? $old->get_data_vars(true) : $old);
        if ($kind === 'booking' && $new->status !== $old->status) {
            self::tell('booking_change_status', $new, $old);
        }
    }

    /**
     * Returns the record of an event as the event left it, null if it is gone, and as it was before, null if it is told as new.
     *
     * @return array{0:?object,1:?object}
     */
    private static function models(string $name, object $event): array
    {
        [$kind, $what] = explode('_', $name, 2);
        $class = self::MODELS[$kind];
        $new = new $class((int) $event->record_id);
        if (empty($new->id)) {
            return [null, null];
        }
        self::assign($new, self::rowAfter($event, $kind));
        if ($what === 'created') {
            return [$new, null];
        }
        $old = new $class((int) $event->record_id);
        self::assign($old, self::rowAfter($event, $kind));
        if ($name === $event->event) {
            self::assign($old, (array) json_decode((string) $event->old, true));
        }
        return [$new, $old];
    }

    /**
     * Returns the row that an event left, if the record has changed again since: the one before the next change that waits.
     *
     * @return array<string,?string>
     */
    private static function rowAfter(object $event, string $kind): array
    {
        global $wpdb;
        $next = "SELECT old FROM `{$wpdb->prefix}bookside_events` WHERE status IN ('waiting', 'started') AND id > %d AND event = %s AND record_id = %d AND old IS NOT NULL ORDER BY id LIMIT 1";
        return (array) json_decode((string) $wpdb->get_var($wpdb->prepare($next, $event->id, $kind . '_updated', $event->record_id)), true);
    }

    /** @param array<string,?string> $row Texts or null, as a model has that was read: listeners compare types. */
    private static function assign(object $model, array $row): void
    {
        foreach ($row as $column => $value) {
            if (property_exists($model, $column)) {
                $model->$column = $value;
            }
        }
    }

    /**
     * Lets LatePoint send its workflows' messages about an event, unless the server has: the first to change the row sends them.
     */
    private static function send(object $event): void
    {
        global $wpdb;
        $messages = $event->messages ?? ''; // a server of an earlier version has no such column
        if ($messages === '') {
            return;
        }
        $resumed = $event->sender === 'plugin';
        if ($resumed && $event->status !== 'started') {
            return; // they were sent before extensions are told again
        }
        $claim = "UPDATE `{$wpdb->prefix}bookside_events` SET sender = 'plugin', rendered = NULL WHERE id = %d AND sender = ''";
        if (!$resumed && 1 !== $wpdb->query($wpdb->prepare($claim, $event->id))) {
            return;
        }
        [$new, $old] = self::models($event->event, $event);
        if ($new === null || ($resumed && (int) $event->tries >= self::TRIES)) {
            return;
        }
        if ($messages === 'all' && !$resumed) {
            call_user_func_array(['OsProcessJobsHelper', 'handle_' . $event->event], array_filter([$new, $old]));
            return;
        }
        $kind = strstr($event->event, '_', true);
        $objects = [['model' => $kind, 'id' => $new->id, 'model_ready' => $new]];
        if ($old !== null) {
            $objects[] = ['model' => 'old_' . $kind, 'id' => $old->id, 'model_ready' => $old];
        }
        foreach (self::TYPES[$event->event] as $type) {
            if ($messages !== 'all' && !in_array($type, ['booking_start', 'booking_end'], true)) {
                continue;
            }
            foreach ((new OsProcessModel())->where(['event_type' => $type])->should_be_active()->get_results_as_models() ?: [] as $process) {
                $process->build_from_json();
                if (!$resumed || !self::begun($process, $event, $kind)) {
                    OsProcessJobsHelper::create_jobs_for_process($process, $objects);
                }
            }
        }
    }

    /**
     * Reports whether a process that has died had begun with a workflow of an event. What it was sending then may have arrived, so that it is not sent again, and
     * not by the cron either: LatePoint lists it as failed.
     */
    private static function begun(OsProcessModel $process, object $event, string $kind): bool
    {
        $jobs = (new OsProcessJobModel())->where([
            'process_id' => $process->id, 'object_id' => $event->record_id, 'object_model_type' => $kind,
            'created_at >=' => gmdate('Y-m-d H:i:s', strtotime($event->created_at . ' UTC') - MINUTE_IN_SECONDS), // clocks differ by as much at most
        ])->get_results_as_models() ?: [];
        foreach ($jobs as $job) {
            if ($job->status === LATEPOINT_JOB_STATUS_SCHEDULED && $job->to_run_after_utc <= OsTimeHelper::now_datetime_utc_in_db_format()) {
                $died = 'The process of PHP died while it sent this.';
                $job->status = LATEPOINT_JOB_STATUS_ERROR;
                $job->run_result = wp_json_encode([
                    'status' => LATEPOINT_STATUS_ERROR, 'run_datetime_utc' => OsTimeHelper::now_datetime_utc_in_db_format(), 'message' => $died, 'ran_actions_info' => [],
                ]);
                $job->save();
                self::$failures[] = "workflow {$process->id}: $died";
            }
        }
        return $jobs !== [];
    }

    /**
     * Makes events of a booking wait until extensions were told that it will be deleted, or this process has died. Reports whether no other one tells them.
     *
     * @param mixed $ids
     */
    public static function lockDeletion($ids): bool
    {
        global $wpdb;
        return (string) $wpdb->get_var($wpdb->prepare('SELECT GET_LOCK(%s, %d)', self::deletes() . self::only($ids), self::WAIT)) === '1';
    }

    /**
     * Tells extensions that a booking will be deleted, while it still exists.
     *
     * @param mixed $ids
     */
    public static function willBeDeleted($ids): array
    {
        global $wpdb;
        self::$failures = [];
        $id = self::only($ids);
        // Another server may have deleted it meanwhile.
        if ($wpdb->get_var($wpdb->prepare("SELECT id FROM `{$wpdb->prefix}latepoint_bookings` WHERE id = %d", $id)) !== null) {
            self::tell('booking_will_be_deleted', $id);
        }
        $wpdb->get_var($wpdb->prepare('SELECT RELEASE_LOCK(%s)', self::deletes() . $id));
        if (self::$failures !== []) {
            bookside_companion_failed('events', "booking_will_be_deleted $id: " . implode('; ', self::$failures));
        }
        return ['failed' => count(self::$failures), 'failure' => mb_substr(implode('; ', self::$failures), 0, 190)];
    }

    /**
     * Returns the id in a list of one.
     *
     * @param mixed $ids
     */
    private static function only($ids): int
    {
        return (int) (((array) $ids)[0] ?? 0);
    }

    /**
     * Fires an action of LatePoint for extensions only.
     *
     * @param mixed ...$arguments
     */
    private static function tell(string $action, ...$arguments): void
    {
        self::guard($action);
        do_action("latepoint_$action", ...$arguments);
    }

    /** Removes LatePoint's own listeners from an action, in this request, and keeps what one of the others throws or leaves open from the next. */
    private static function guard(string $action): void
    {
        global $wp_filter;
        if (isset(self::$guarded[$action]) || !isset($wp_filter["latepoint_$action"])) {
            return;
        }
        self::$guarded[$action] = true;
        $hook = $wp_filter["latepoint_$action"];
        $listeners = self::listeners($action);
        foreach ($hook->callbacks as $priority => $callbacks) {
            foreach ($callbacks as $key => $callback) {
                if (!isset($listeners[$priority][$key])) {
                    if (is_array($callback['function']) && $callback['function'][0] instanceof BooksideAssets) {
                        continue; // it has the lock while Pro stores what the booking takes
                    }
                    $hook->remove_filter("latepoint_$action", $callback['function'], $priority);
                    continue;
                }
                $hook->callbacks[$priority][$key]['function'] = static function (...$arguments) use ($callback) {
                    try {
                        return $callback['function'](...$arguments);
                    } catch (\Throwable $e) {
                        self::$failures[] = bookside_companion_describe($e);
                        return null;
                    } finally {
                        $left = bookside_companion_end_transaction('ROLLBACK'); // as when a request ends
                        if ($left !== '') {
                            self::$failures[] = "A listener left $left.";
                        }
                    }
                };
            }
        }
    }
}
