<?php

/**
 * Plugin Name: Bookside companion
 * Description: Makes WordPress take the locks of Bookside, the server of the booking API, and enter its changes into the journal.
 * Version: 0.2.0
 * Requires at least: 6.1
 * Requires PHP: 7.4
 * Author: The Bookside authors
 * License: GPL-2.0-or-later
 * License URI: https://www.gnu.org/licenses/gpl-2.0.html
 * Text Domain: bookside
 *
 * Everything here works without the server: the locks need the database alone, changes stay in the inbox of the
 * journal, and requests that cannot be forwarded are left to WordPress.
 *
 * @package Bookside
 */

defined('ABSPATH') || exit;

define('BOOKSIDE_COMPANION_VERSION', '0.2.0');

/**
 * Returns the settings, which are stored in the option bookside_companion:
 * staff_overbooking (whether staff may book what is occupied), jobs (whether WordPress's cron runs LatePoint's
 * jobs) and forward (address of the server that gets requests to the API; '' for none).
 *
 * @return array{staff_overbooking:bool,jobs:bool,forward:string}
 */
function bookside_companion_settings(): array
{
    $stored = get_option('bookside_companion', []);
    $stored = is_array($stored) ? $stored : [];
    return [
        'staff_overbooking' => (bool) ($stored['staff_overbooking'] ?? true),
        'jobs' => (bool) ($stored['jobs'] ?? false),
        'forward' => is_string($stored['forward'] ?? '') ? rtrim($stored['forward'] ?? '', '/') : '',
    ];
}

/**
 * Takes a lock that nobody else wants, as for a booking, and returns what is wrong, '' for nothing.
 */
function bookside_companion_lock_problem(): string
{
    $lock = new BooksideLock();
    $taken = $lock->take([0 => [0]]);
    $lock->release();
    return $taken && $lock->problem === '' ? '' : $lock->problem;
}

/**
 * Returns what failed since the failures were cleared, by what failed: payment, lock, journal, forms, jobs or forward.
 *
 * @return array<string,array{count:int,at:int,message:string}> With the time (Unix) and the message of the last one.
 */
function bookside_companion_failures(): array
{
    $failures = get_option('bookside_companion_failures', []);
    return is_array($failures) ? $failures : [];
}

/** Forgets the failures. */
function bookside_companion_clear_failures(): void
{
    delete_option('bookside_companion_failures');
}

/** Returns when WordPress's cron will run LatePoint's jobs next (Unix time); 0 if it will not. */
function bookside_companion_next_jobs(): int
{
    return BooksideJobs::next();
}

/** Leaves word for "bookside check" that the companion is loaded, once a day. */
function bookside_companion_seen(): void
{
    [$version, $at] = explode(' ', get_option('bookside_companion_seen', '') . ' 0');
    if ($version !== BOOKSIDE_COMPANION_VERSION || time() - (int) $at > DAY_IN_SECONDS) {
        update_option('bookside_companion_seen', BOOKSIDE_COMPANION_VERSION . ' ' . time());
        add_option('bookside_companion', []); // one that is missing costs each page a query
    }
}

/** Counts a failure. What failed must not break the request of a visitor, so it is shown in wp-admin only. */
function bookside_companion_failed(string $what, string $message): void
{
    try {
        $failures = bookside_companion_failures();
        $failures[$what] = [
            'count' => (int) ($failures[$what]['count'] ?? 0) + 1,
            'at' => time(),
            'message' => mb_substr($message, 0, 1000),
        ];
        update_option('bookside_companion_failures', $failures, false);
    } catch (\Throwable $ignored) {
        return; // the database is away, and WordPress says so itself
    }
}

/**
 * Rows of Bookside's lock table, taken on a connection of its own.
 *
 * The statement, the kinds and the rules are those of adapter/locks.go in Bookside: PHP and the server wait for each
 * other only if they use the same ones.
 */
class BooksideLock
{
    public const BOOKING = 1;
    public const LOCATION = 2;
    public const SERVICE = 3;
    public const AGENT = 4;

    private const BUCKETS = 1024;
    private const WAIT = 8; // seconds for a row that another one has
    private const CONNECT = 1.0; // seconds for a server that has no connection left
    private const ATTEMPTS = 4; // at deadlocks and missing rows

    /** What the last call of take could not do; '' for nothing. */
    public string $problem = '';

    /** How many rows the last call of execute found to change. */
    public int $changed = 0;

    /** The id of the row that the last call of execute inserted. */
    public int $inserted = 0;

    /** @var mysqli|null */
    private $link = null;

    /** @var array<int,int[]> The rows that are taken, ids by kind, in ascending order. */
    private array $rows = [];

    /** Returns the id of the row for a record. */
    public static function row(int $kind, int $id): int
    {
        return $kind === self::BOOKING ? $id % self::BUCKETS : $id;
    }

    /**
     * Joins rows of several bookings.
     *
     * @param array<int,int[]> ...$sets
     * @return array<int,int[]> Ids by kind, in ascending order.
     */
    public static function join(array ...$sets): array
    {
        $all = [];
        foreach ($sets as $set) {
            foreach ($set as $kind => $ids) {
                $all[$kind] = array_merge($all[$kind] ?? [], array_map('intval', $ids));
            }
        }
        foreach ($all as $kind => $ids) {
            $ids = array_values(array_unique($ids));
            sort($ids);
            $all[$kind] = $ids;
        }
        ksort($all);
        return array_filter($all);
    }

    /**
     * Takes rows in addition to those that are taken. To keep the order, the others may be released and taken again, and
     * what was executed is undone then. If there is no lock table and none can be made, there is no lock to wait for: the
     * site does what it did without the companion.
     *
     * @param array<int,int[]> $rows
     * @return bool Whether nobody else has the rows; false after waiting in vain.
     */
    public function take(array $rows): bool
    {
        $rows = self::join($this->rows, $rows);
        if ($rows === [] || ($rows === $this->rows && $this->held())) {
            return true;
        }
        $this->cancel();
        $until = microtime(true) + self::CONNECT;
        for ($attempt = 1; $attempt <= self::ATTEMPTS; $attempt++) {
            $error = $this->connect() ?: $this->update($rows);
            if ($error === 0) {
                $this->problem = '';
                $this->rows = $rows;
                return true;
            }
            $this->problem = $this->describe($error);
            $missing = $error === 1146 && $this->createTable();
            $this->close();
            if ($error === 1146 && !$missing) {
                bookside_companion_failed('lock', $this->problem);
                return true;
            }
            if ($error === 1205) {
                break;
            }
            if (in_array($error, [1040, 1203, 1226, 2002, 2003, 2006, 2013], true)) {
                if (microtime(true) >= $until) {
                    break;
                }
                $attempt--;
                usleep(50000);
            } elseif (!$missing && !in_array($error, [-1, 1213], true)) {
                break;
            }
        }
        bookside_companion_failed('lock', $this->problem);
        return false;
    }

    /** Reports whether the rows are taken still: the server may have closed the connection, and thereby released them. */
    public function held(): bool
    {
        return $this->link !== null && $this->run('DO 1') === 0;
    }

    /** Reports whether there are rows that were taken and not released, held still or not. */
    public function taken(): bool
    {
        return $this->rows !== [];
    }

    /** Lets the others go on, who see what was executed. Reports whether they do: a cluster may refuse it. */
    public function release(): bool
    {
        $error = $this->rows === [] ? 0 : $this->run('COMMIT');
        if ($error !== 0) {
            $this->problem = $this->describe($error);
        }
        $this->close();
        $this->rows = [];
        return $error === 0;
    }

    /** Lets the others go on, and undoes what was executed. */
    public function cancel(): void
    {
        if ($this->rows !== []) {
            $this->run('ROLLBACK');
        }
        $this->close();
        $this->rows = [];
    }

    /**
     * Runs a statement on a table of Bookside: in the transaction of the lock if rows are taken, or else in one of its own.
     *
     * @return int The error number.
     */
    public function execute(string $statement): int
    {
        $error = $this->rows === [] ? $this->connect() : 0;
        $error = $error ?: $this->run($statement);
        $this->changed = $error === 0 ? (int) mysqli_affected_rows($this->link) : 0;
        $this->inserted = $error === 0 ? (int) mysqli_insert_id($this->link) : 0;
        if ($error !== 0) {
            $this->problem = $this->describe($error);
        }
        if ($this->rows === []) {
            $this->close();
        }
        return $error;
    }

    private function close(): void
    {
        if ($this->link !== null) {
            try {
                mysqli_close($this->link);
            } catch (\Throwable $gone) {
                $this->link = null;
            }
            $this->link = null;
        }
    }

    /** Opens a connection, never a persistent one: that would keep the lock when the request dies. Returns the error number. */
    private function connect(): int
    {
        global $wpdb;
        /**
         * Filters where the lock is taken: the primary server, if WordPress's connections go to several.
         *
         * @param array{host:string,user:string,password:string,name:string} $server Like DB_HOST, DB_USER, ...
         */
        $server = apply_filters(
            'bookside_lock_connection',
            ['host' => DB_HOST, 'user' => DB_USER, 'password' => DB_PASSWORD, 'name' => DB_NAME]
        );
        $parsed = $wpdb->parse_db_host($server['host']);
        [$host, $port, $socket, $ipv6] = $parsed ?: [$server['host'], null, null, false];
        $this->link = mysqli_init();
        mysqli_options($this->link, MYSQLI_OPT_CONNECT_TIMEOUT, 2);
        mysqli_options($this->link, MYSQLI_OPT_READ_TIMEOUT, self::WAIT + 2);
        $flags = MYSQLI_CLIENT_FOUND_ROWS | (defined('MYSQL_CLIENT_FLAGS') ? (int) constant('MYSQL_CLIENT_FLAGS') : 0);
        $host = $ipv6 ? "[$host]" : $host;
        try {
            $open = @mysqli_real_connect( // phpcs:ignore -- the error is reported below
                $this->link,
                $host,
                $server['user'],
                $server['password'],
                $server['name'],
                $port ? (int) $port : null,
                $socket ?: null,
                $flags
            );
        } catch (\mysqli_sql_exception $e) {
            $open = false;
        }
        if ($open) {
            return 0;
        }
        $error = mysqli_connect_errno() ?: 2002;
        $this->link = null;
        $this->connectError = (string) mysqli_connect_error();
        return $error;
    }

    private string $connectError = '';

    /**
     * Begins a transaction and changes the rows.
     *
     * @param array<int,int[]> $rows
     * @return int The error number, or -1 if rows did not exist yet.
     */
    private function update(array $rows): int
    {
        global $wpdb;
        $table = $wpdb->prefix . 'bookside_locks';
        $which = [];
        $values = [];
        foreach ($rows as $kind => $ids) {
            $which[] = sprintf('(kind = %d AND id IN (%s))', $kind, implode(', ', array_map('intval', $ids)));
            foreach ($ids as $id) {
                $values[] = sprintf('(%d, %d)', $kind, $id);
            }
        }
        $error = $this->run('SET SESSION innodb_lock_wait_timeout = ' . self::WAIT)
            ?: $this->run('SET TRANSACTION ISOLATION LEVEL READ COMMITTED')
            ?: $this->run('START TRANSACTION')
            ?: $this->run(
                "UPDATE `$table` FORCE INDEX (PRIMARY) SET n = n + 1 WHERE " . implode(' OR ', $which) . ' ORDER BY kind, id'
            );
        if ($error !== 0 || mysqli_affected_rows($this->link) >= count($values)) {
            return $error;
        }
        // Each row by itself: whoever waits for a row that exists holds none that others may need.
        $error = $this->run('ROLLBACK');
        foreach ($values as $value) {
            $error = $error ?: $this->run("INSERT IGNORE INTO `$table` (kind, id) VALUES $value");
        }
        return $error ?: -1;
    }

    /** Makes the lock table, as the server does when it starts. Reports whether it could. */
    private function createTable(): bool
    {
        global $wpdb;
        return $this->run(
            "CREATE TABLE IF NOT EXISTS `{$wpdb->prefix}bookside_locks` (kind TINYINT UNSIGNED NOT NULL, "
            . 'id BIGINT UNSIGNED NOT NULL, n BIGINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (kind, id)) '
            . 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4'
        ) === 0;
    }

    /** Runs a statement and returns its error number. PHP 8.1 throws unless WordPress switched that off. */
    private function run(string $statement): int
    {
        try {
            return @mysqli_query($this->link, $statement) ? 0 : (mysqli_errno($this->link) ?: 2006); // phpcs:ignore
        } catch (\mysqli_sql_exception $e) {
            return (int) $e->getCode() ?: 2006;
        }
    }

    private function describe(int $error): string
    {
        if ($error === -1) {
            return __('The rows of the lock table could not be made.', 'bookside');
        }
        if ($error === 1205) {
            /* translators: %d: a number of seconds. */
            return sprintf(__('Another booking kept the lock for more than %d seconds.', 'bookside'), self::WAIT);
        }
        $text = $this->link !== null ? mysqli_error($this->link) : $this->connectError;
        /* translators: 1: a number. 2: a message of the database. */
        return sprintf(__('The lock could not be taken, error %1$d: %2$s', 'bookside'), $error, $text);
    }
}

/**
 * Rows of Bookside's table of holds, which keep slots for those who have yet to book.
 *
 * A booking that was looked at under the lock, and is saved later, is kept by a hold of its own: so nobody waits for
 * the lock while a visitor pays, or while a mail is sent. The rules are those of adapter/holds.go in Bookside.
 */
class BooksideHolds
{
    private const LASTS = 300; // seconds
    private const FRESH = 60; // seconds in which it is not renewed

    private BooksideLock $lock;

    /** @var array<int,OsBookingModel> The bookings of this request that are kept, by the ids of their holds. */
    private array $kept = [];

    /** @var float When the holds were made or renewed. */
    private float $renewed = 0.0;

    public function __construct(BooksideLock $lock)
    {
        $this->lock = $lock;
    }

    public function register(): void
    {
        add_filter('pre_http_request', [$this, 'renewInTime']);
        add_filter('query', [$this, 'renewInTime']);
    }

    /**
     * Keeps bookings that were looked at under the lock, and releases it. Without a table of holds, and if none can be
     * made, they are not kept: they have to be looked at again.
     *
     * @param OsBookingModel[] $bookings
     * @return bool Whether others will respect them.
     */
    public function keep(array $bookings): bool
    {
        $kept = [];
        foreach ($bookings as $booking) {
            $statement = $this->insertion($booking);
            $error = $this->lock->execute($statement);
            if ($error === 1146) {
                if (!$this->createTable()) {
                    bookside_companion_failed('lock', $this->lock->problem);
                    break;
                }
                $error = $this->lock->execute($statement);
            }
            if ($error !== 0) {
                $this->lock->cancel();
                bookside_companion_failed('lock', $this->lock->problem);
                return false;
            }
            $kept[$this->lock->inserted] = clone $booking;
        }
        if (!$this->lock->release()) {
            bookside_companion_failed('lock', $this->lock->problem);
            return false;
        }
        $this->kept += $kept;
        $this->renewed = microtime(true);
        return true;
    }

    /** Returns the id of the hold that keeps a booking; 0 for none. */
    public function of($booking): int
    {
        foreach ($this->kept as $id => $kept) {
            if ((int) $kept->id !== (int) $booking->id) {
                continue;
            }
            $same = $kept->start_date === $booking->start_date && (int) $kept->start_time === (int) $booking->start_time;
            foreach (['service_id', 'agent_id', 'location_id'] as $column) { // any agent or any location: their ids are words
                $same = $same && in_array((int) $booking->$column, [0, (int) $kept->$column], true);
            }
            if ($same) {
                return $id;
            }
        }
        return 0;
    }

    /** Ends a hold together with the lock that is taken. Reports whether it was valid until now. */
    public function spend(int $id): bool
    {
        $table = $this->table();
        $error = $this->lock->execute("DELETE FROM `$table` WHERE id = $id AND expires_at > UTC_TIMESTAMP()");
        if ($error !== 0) {
            $this->lock->cancel();
            return false;
        }
        unset($this->kept[$id]);
        return $this->lock->changed === 1;
    }

    /** Makes holds last longer from now on. Reports whether all of them were valid until now. */
    public function renew(int ...$ids): bool
    {
        $table = $this->table();
        $error = $this->lock->execute(
            "UPDATE `$table` SET expires_at = UTC_TIMESTAMP() + INTERVAL " . self::LASTS . ' SECOND '
            . 'WHERE expires_at > UTC_TIMESTAMP() AND id IN (' . implode(', ', $ids) . ')'
        );
        $this->renewed = microtime(true);
        return $error === 0 && $this->lock->changed === count($ids);
    }

    /**
     * Renews the holds where PHP shows that it is alive: before it asks the database or another server.
     *
     * @param mixed $value What is filtered, and returned as it is.
     */
    public function renewInTime($value)
    {
        if ($this->kept !== [] && microtime(true) - $this->renewed > self::FRESH) {
            $this->renew(...array_keys($this->kept));
        }
        return $value;
    }

    /** Leaves a hold as it is, until it expires. */
    public function leave(int $id): void
    {
        unset($this->kept[$id]);
    }

    /** Gives back what is kept still. */
    public function drop(): void
    {
        if ($this->kept === []) {
            return;
        }
        $table = $this->table();
        if ($this->lock->execute("DELETE FROM `$table` WHERE id IN (" . implode(', ', array_keys($this->kept)) . ')') !== 0) {
            bookside_companion_failed('lock', $this->lock->problem);
        }
        $this->kept = [];
    }

    /**
     * Returns the holds on some days but one, as columns of bookings. A hold that runs past midnight is two, because
     * LatePoint's calendar sees no booking that does. There may be no table of holds.
     */
    public function on(string $from, string $to, int $except): array
    {
        global $wpdb;
        static $known = [];
        $table = $this->table();
        if ($from === '' || (($known[$table] ?? true) === false && $this->kept === [])) {
            return [];
        }
        $quiet = $wpdb->suppress_errors();
        $found = $wpdb->get_results(
            $wpdb->prepare(
                'SELECT agent_id, service_id, location_id, start_date, start_time, end_date, end_time, buffer_before, '
                . "buffer_after, total_attendees FROM `$table` WHERE expires_at > UTC_TIMESTAMP() "
                . 'AND start_date BETWEEN %s - INTERVAL 1 DAY AND %s AND id <> %d',
                $from,
                $to,
                $except
            ),
            ARRAY_A
        );
        $known[$table] = $wpdb->last_error === '';
        $wpdb->suppress_errors($quiet);
        $holds = [];
        foreach ($found ?: [] as $hold) {
            $first = ['end_date' => $hold['start_date']] + $hold;
            if ($hold['end_date'] > $hold['start_date']) {
                $first['end_time'] = 1440;
                if ((int) $hold['end_time'] < 1440) {
                    $holds[] = ['start_date' => $hold['end_date'], 'start_time' => 0, 'buffer_before' => 0] + $hold;
                }
            }
            $holds[] = $first;
        }
        return array_filter($holds, static function (array $hold) use ($from, $to): bool {
            return $hold['start_date'] >= $from && $hold['start_date'] <= $to;
        });
    }

    private function table(): string
    {
        global $wpdb;
        return $wpdb->prefix . 'bookside_holds';
    }

    /** Returns the statement that keeps a booking. An end at midnight is minute 1440 of the next date. */
    private function insertion($booking): string
    {
        global $wpdb;
        $table = $this->table();
        $duration = (int) $booking->get_total_duration();
        $end = (int) $booking->start_time + $duration;
        return $wpdb->prepare(
            "INSERT INTO `$table` (key_id, agent_id, service_id, location_id, start_date, end_date, start_time, end_time, duration, "
            . 'buffer_before, buffer_after, total_attendees, expires_at, created_at) '
            . 'VALUES (0, %d, %d, %d, %s, %s + INTERVAL %d DAY, %d, %d, %d, %d, %d, %d, UTC_TIMESTAMP() + INTERVAL %d SECOND, UTC_TIMESTAMP())',
            $booking->agent_id,
            $booking->service_id,
            $booking->location_id,
            $booking->start_date,
            $booking->start_date,
            $end >= 1440 ? 1 : 0,
            $booking->start_time,
            $end > 1440 ? $end - 1440 : $end,
            $duration,
            $booking->buffer_before,
            $booking->buffer_after,
            max(1, (int) $booking->total_attendees),
            self::LASTS
        );
    }

    /** Makes the table of holds, as the server does when it starts; not on the lock's connection, which would lose the lock. */
    private function createTable(): bool
    {
        global $wpdb;
        $quiet = $wpdb->suppress_errors();
        $made = $wpdb->query(
            "CREATE TABLE IF NOT EXISTS `{$this->table()}` (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, key_id BIGINT UNSIGNED NOT NULL, "
            . 'agent_id BIGINT UNSIGNED NOT NULL, service_id BIGINT UNSIGNED NOT NULL, location_id BIGINT UNSIGNED NOT NULL, '
            . 'start_date DATE NOT NULL, end_date DATE NOT NULL, start_time SMALLINT UNSIGNED NOT NULL, end_time SMALLINT UNSIGNED NOT NULL, '
            . 'duration SMALLINT UNSIGNED NOT NULL, buffer_before INT NOT NULL, buffer_after INT NOT NULL, total_attendees INT UNSIGNED NOT NULL, '
            . 'expires_at DATETIME NOT NULL, created_at DATETIME NOT NULL, PRIMARY KEY (id), KEY start_date (start_date, expires_at), '
            . 'KEY key_id (key_id, expires_at), KEY expires_at (expires_at)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4'
        );
        $wpdb->suppress_errors($quiet);
        return $made !== false;
    }
}

/**
 * Keeps two bookings out of one slot, whoever makes them.
 *
 * Before LatePoint looks whether a slot is free, or before it saves a booking without looking, the rows of the slot
 * are locked; they are released when the booking's row is there. Where LatePoint looks itself (checkout, reschedule
 * by the customer), it does so under the lock; elsewhere (staff form, abilities, status) this class looks, by asking
 * LatePoint for what occupies the slot. Working hours bind customers only.
 *
 * Between the look and the row nobody may wait for anybody but the database. Where a payment, or mails about other
 * bookings, come in between (checkout, staff form), the look ends with a hold and the lock is released. It is taken
 * again for each booking that is saved, whose hold ends with it. A slot that is kept needs no second look.
 */
class BooksideSlots
{
    private BooksideLock $lock;

    private BooksideHolds $holds;

    /** Processors that charge before the form is sent. */
    private const PAID_IN_BROWSER = ['stripe_connect', 'razorpay_connect'];

    /** A change of one booking's status, as $wpdb or people write it. */
    private const STATUS_CHANGE = '/\sSET\s(?:.*?[\s,])?`?status`?\s*=\s*[\'"]([^\'"]*)[\'"].*\sWHERE\s+`?id`?\s*=\s*[\'"]?(\d+)[\'"]?'
        . '(?:\s|;|LIMIT\s+1\b|\/\*.*?\*\/)*$/is';

    /**
     * @var string What LatePoint is doing: checkout and reschedule while it looks under the lock, payment from the end of a
     *      checkout's look to its last booking's row, or '' for nothing of these.
     */
    private string $flow = '';

    /** @var int The booking that is rescheduled. */
    private int $rescheduled = 0;

    /** @var bool Whether the lock could not be taken, so that nothing is free. */
    private bool $refused = false;

    /** @var int How many bookings of the checkout have no row yet. */
    private int $unsaved = 0;

    /** @var OsBookingModel[] The bookings of the checkout that LatePoint has looked at; the last one it may be looking at. */
    private array $cart = [];

    /** @var OsBookingModel|null The booking that LatePoint looked at last. */
    private $looked = null;

    /** @var string The ability that is running. */
    private string $ability = '';

    /** @var bool Whether this class itself is asking LatePoint. */
    private bool $asking = false;

    /** @var string[] What staff should know about the bookings that they made. */
    private array $warnings = [];

    /** @var string A change of status, until it has run. */
    private string $statusQuery = '';

    public function __construct()
    {
        $this->lock = new BooksideLock();
        $this->holds = new BooksideHolds($this->lock);
    }

    public function register(): void
    {
        $this->holds->register();
        add_action('latepoint_order_intent_processing', [$this, 'beginCheckout'], PHP_INT_MIN);
        add_action('latepoint_order_intent_new', [$this, 'refused'], PHP_INT_MIN);
        foreach (['latepoint_order_intent_new', 'latepoint_order_intent_failed', 'latepoint_order_created'] as $end) {
            add_action($end, [$this, 'endCheckout'], PHP_INT_MIN);
        }
        add_filter('latepoint_process_payment_for_order_intent', [$this, 'beginPayment'], PHP_INT_MIN);
        add_filter('latepoint_create_booking_request_from_booking_model', [$this, 'beginLook'], PHP_INT_MIN, 2);
        add_filter('latepoint_blocked_periods_for_range', [$this, 'blockRefused'], PHP_INT_MAX);
        add_filter('latepoint_get_booked_periods', [$this, 'addBookedPeriods'], 10, 2);
        add_action('latepoint_model_validate', [$this, 'validate'], PHP_INT_MAX, 3);
        add_action('latepoint_model_save', [$this, 'saved'], PHP_INT_MIN);
        add_action('wp_before_execute_ability', [$this, 'beginAbility']);
        add_action('wp_after_execute_ability', [$this, 'endAbility']);
        add_action('shutdown', [$this, 'end'], PHP_INT_MIN);
    }

    /**
     * Locks the slots of a cart before LatePoint looks whether they are free, and before it charges anything.
     * LatePoint does not expect an exception here.
     *
     * @param OsOrderIntentModel $intent
     */
    public function beginCheckout($intent): void
    {
        try {
            $this->endCheckout(); // of another intent
            $rows = [];
            $this->unsaved = 0;
            foreach ($intent->build_cart_object()->get_items() as $item) {
                if ($item->variant === LATEPOINT_ITEM_VARIANT_BOOKING) {
                    $rows[] = $this->rowsOf($item->build_original_object_from_item_data());
                    $this->unsaved++;
                }
            }
            if ($rows === []) {
                return;
            }
            $this->flow = 'checkout';
            $this->cart = [];
            $this->refused = !$this->take(BooksideLock::join(...$rows));
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
        }
    }

    public function endCheckout(): void
    {
        if ($this->flow === 'checkout' || $this->flow === 'payment') {
            $this->end();
        }
    }

    /**
     * Tells of a checkout that was refused although its visitor has paid: in the browser, before anybody asked for the slot.
     *
     * @param OsOrderIntentModel $intent
     */
    public function refused($intent): void
    {
        if ($this->flow !== 'checkout') {
            return;
        }
        $payment = json_decode((string) ($intent->payment_data ?? ''), true);
        if (empty($payment['token']) || !in_array($payment['processor'] ?? '', self::PAID_IN_BROWSER, true)) {
            return;
        }
        /* translators: 1: number of an unfinished order. 2: name of a payment processor. */
        $text = sprintf(__('Order intent %1$d was refused, and is probably paid with %2$s.', 'bookside'), (int) $intent->id, $payment['processor']);
        if (strpos(bookside_companion_failures()['payment']['message'] ?? '', $text) === false) { // the processor tries again
            $this->tell($text);
        }
    }

    /** Tells staff of money that has no booking. */
    private function tell(string $text): void
    {
        error_log('Bookside: ' . $text);
        bookside_companion_failed('payment', trim($text . ' ' . (bookside_companion_failures()['payment']['message'] ?? '')));
    }

    /**
     * Runs before a payment, of a cart whose bookings LatePoint has looked at: at the latest now, others go on.
     *
     * @param mixed $result
     */
    public function beginPayment($result)
    {
        if ($this->flow === 'checkout') {
            $this->keepCart();
        }
        return $result;
    }

    /** Keeps the bookings of the checkout, and releases the lock. Reports whether the checkout may go on. */
    private function keepCart(): bool
    {
        if ($this->refused) {
            return false;
        }
        $bookings = array_filter(array_slice($this->cart, -$this->unsaved), function ($booking): bool {
            return $this->blocks((string) $booking->status, (int) $booking->service_id);
        });
        $this->flow = 'payment';
        $this->cart = [];
        try {
            return $this->holds->keep($bookings);
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
            $this->lock->release();
            return true;
        }
    }

    /**
     * Runs before LatePoint looks whether the slot of a booking is free: when it is checked out, when a customer moves
     * it, and for calendars, where nothing is to be locked.
     *
     * @param \LatePoint\Misc\BookingRequest $request
     * @param OsBookingModel $booking
     */
    public function beginLook($request, $booking)
    {
        $this->looked = $booking;
        if ($this->asking) {
            return $request;
        }
        if ($this->flow === 'checkout' && !in_array($booking, $this->cart, true)) {
            $this->cart[] = $booking;
        }
        if ($this->flow === '' && !empty($booking->id) && self::reschedules()) {
            $this->beginReschedule($booking);
        }
        return $request;
    }

    /** Locks the old and the new slot of a booking that its customer moves. */
    private function beginReschedule($booking): void
    {
        try {
            $this->flow = 'reschedule';
            $this->rescheduled = (int) $booking->id;
            $this->refused = !$this->take($this->rowsToMove($booking, $this->stored($this->rescheduled)));
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
        }
    }

    /** Reports whether a customer asked to move a booking. */
    private static function reschedules(): bool
    {
        // Only compared: LatePoint checks the request.
        $route = $_POST['route_name'] ?? $_GET['route_name'] ?? ''; // phpcs:ignore
        return in_array(
            $route,
            ['customer_cabinet__process_reschedule_request', 'manage_booking_by_key__process_reschedule_request'],
            true
        );
    }

    /**
     * Blocks all days while the lock cannot be had, so that LatePoint says that the slot is not available any more.
     *
     * @param array<string,array> $periods By date.
     */
    public function blockRefused($periods)
    {
        if (!$this->refused || !is_array($periods)) {
            return $periods;
        }
        foreach (array_keys($periods) as $day) {
            $periods[$day][] = new \LatePoint\Misc\BlockedPeriod(
                ['start_date' => $day, 'end_date' => $day, 'start_time' => 0, 'end_time' => 1440]
            );
        }
        return $periods;
    }

    /**
     * Adds what occupies slots without a booking's row: holds, and the other bookings of the same cart. They count like
     * bookings, with their seats. The hold of a booking does not keep it from its own slot.
     *
     * @param \LatePoint\Misc\BookedPeriod[] $periods
     * @param \LatePoint\Misc\Filter $filter
     */
    public function addBookedPeriods($periods, $filter)
    {
        if (!is_array($periods)) {
            return $periods;
        }
        try {
            $own = $this->flow === 'payment' && $this->looked !== null ? $this->holds->of($this->looked) : 0;
            foreach ($this->holds->on((string) $filter->date_from, (string) ($filter->date_to ?: $filter->date_from), $own) as $hold) {
                $periods[] = new \LatePoint\Misc\BookedPeriod($hold);
            }
            if ($this->flow === 'checkout' && count($this->cart) <= $this->unsaved) {
                foreach (array_slice($this->cart, 0, -1) as $booking) {
                    $periods[] = \LatePoint\Misc\BookedPeriod::create_from_booking_model($booking);
                }
            }
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
        }
        return $periods;
    }

    /**
     * Looks before a booking is saved, where LatePoint did not look under the lock itself.
     *
     * @param OsModel $model
     * @param mixed $alternative Not used.
     * @param mixed $skipped Properties that are not validated.
     */
    public function validate($model, $alternative = false, $skipped = []): void
    {
        if (!$model instanceof OsBookingModel || $model->get_error()) {
            return;
        }
        $skipped = is_array($skipped) ? $skipped : [];
        if (in_array('status', $skipped, true)) { // not a save: LatePoint has looked at a slot
            $last = $this->flow === 'checkout' && count($this->cart) >= $this->unsaved && end($this->cart) === $model;
            if ($last && !$this->keepCart()) {
                $model->add_error('validation', self::busy());
            }
            return;
        }
        $checked = $this->flow === 'checkout' && empty($model->id)
            || $this->flow === 'reschedule' && (int) $model->id === $this->rescheduled;
        if ($checked && !$this->refused && $this->lock->held()) {
            return;
        }
        try {
            $refusal = $this->guard($model, in_array('order_item_id', $skipped, true));
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
            return;
        }
        if ($refusal !== '') {
            $model->add_error('validation', $refusal);
            if ($this->ability !== '') {
                $this->discardOrder($model);
            }
        }
    }

    /**
     * Locks the slot of a booking that is about to be saved and looks whether it is free.
     *
     * @param OsBookingModel $booking
     * @param bool $ahead Whether the booking is saved later in this request: it is kept until then.
     * @return string Why the booking must not be saved; '' if it may.
     */
    private function guard($booking, bool $ahead): string
    {
        $before = empty($booking->id) ? null : $this->stored((int) $booking->id);
        if (!$this->occupies($booking, $before)) {
            return '';
        }
        $hold = $ahead ? 0 : $this->holds->of($booking);
        $taken = $this->take($this->rowsToMove($booking, $before));
        if ($hold !== 0 && $taken && $this->holds->spend($hold)) {
            return '';
        }
        if ($hold !== 0 && !$this->lock->taken() && $this->holds->renew($hold)) {
            $this->holds->leave($hold); // without a lock, so that whoever looks finds it until the booking is there
            return '';
        }
        $refusal = $taken ? $this->look($booking) : self::busy();
        if ($refusal === '' && $ahead && !$this->holds->keep([$booking])) {
            $refusal = self::busy();
        }
        if ($refusal !== '') {
            $this->lock->release();
            if ($this->flow === 'payment') {
                $this->lost($booking, $refusal);
            }
        }
        return $refusal;
    }

    private static function busy(): string
    {
        return __('Somebody else is booking at this moment. Please try again.', 'bookside');
    }

    /** Tells of an order that is left without a booking: its customer may have paid. */
    private function lost($booking, string $refusal): void
    {
        $order = (int) (new OsOrderItemModel((int) $booking->order_item_id))->order_id;
        $minutes = (int) $booking->start_time;
        $text = sprintf(
            /* translators: 1: number of an order. 2: a date. 3: a time. 4: why. */
            __('Order %1$d has no booking on %2$s at %3$s: %4$s', 'bookside'),
            $order,
            (string) $booking->start_date,
            sprintf('%02d:%02d', intdiv($minutes, 60), $minutes % 60),
            $refusal
        );
        $this->tell($text);
        /**
         * Runs when an order that was checked out, and probably paid, could not get its booking: the payment took longer than
         * its slot was kept, and somebody else has the slot.
         *
         * @param int $order The order's number.
         * @param OsBookingModel $booking The booking that was not saved.
         * @param string $refusal Why.
         */
        do_action('bookside_slot_lost', $order, $booking, $refusal);
    }

    /** Returns why a booking must not be saved, after looking at its slot under the lock; '' if it may. */
    private function look($booking): string
    {
        $writer = $this->flow === 'payment' ? 'customer' : $this->writer();
        if ($this->free($booking, $writer === 'customer' && empty($booking->id))) {
            return '';
        }
        $other = $this->overlapping($booking);
        $may = in_array($writer, ['staff', 'other'], true) && bookside_companion_settings()['staff_overbooking'];
        if ($writer !== 'ability') {
            /**
             * Filters whether a booking may be made although its slot is occupied. Abilities never may.
             *
             * @param bool $may Whether it may: for staff, and for programs on the server, as the setting says.
             * @param OsBookingModel $booking The booking that is about to be saved.
             * @param array|null $other The booking that occupies the slot; null for what is not a booking.
             * @param string $writer Who books: staff, customer, rest (REST API) or other (cron, command line).
             */
            $may = (bool) apply_filters('bookside_may_overbook', $may, $booking, $other, $writer);
        }
        $text = $this->explain($other);
        if (!$may) {
            return $text;
        }
        $this->warn($text);
        /** Runs when a booking is made although its slot is occupied. The parameters are those of bookside_may_overbook. */
        do_action('bookside_overbooked', $booking, $other, $writer);
        return '';
    }

    private function explain(?array $other): string
    {
        if ($other === null) {
            return __('This time is not available.', 'bookside');
        }
        $minutes = (int) $other['start_time'];
        return sprintf(
            /* translators: 1: number of a booking. 2: name of a service. 3: a date. 4: a time. */
            __('This time is occupied by booking %1$d: %2$s, %3$s %4$s.', 'bookside'),
            (int) $other['id'],
            (string) $other['service'],
            (string) $other['start_date'],
            sprintf('%02d:%02d', intdiv($minutes, 60), $minutes % 60)
        );
    }

    /** Says who is making a booking: ability, rest, staff, customer or other. */
    private function writer(): string
    {
        if ($this->ability !== '') {
            return 'ability';
        }
        if (defined('REST_REQUEST') && REST_REQUEST) {
            return 'rest';
        }
        if (wp_doing_cron() || PHP_SAPI === 'cli') {
            return 'other';
        }
        return OsAuthHelper::get_current_user()->has_backend_access() ? 'staff' : 'customer';
    }

    /**
     * Shows staff a text below what LatePoint answers: its answers are JSON with a message in HTML.
     */
    private function warn(string $text): void
    {
        if ($this->warnings === [] && wp_doing_ajax()) {
            ob_start(function (string $answer): string {
                $decoded = json_decode($answer);
                if (!is_object($decoded) || !is_string($decoded->message ?? null)) {
                    return $answer;
                }
                foreach ($this->warnings as $warning) {
                    $decoded->message .= '<br>' . esc_html($warning);
                }
                return (string) wp_json_encode($decoded);
            });
        }
        if (!in_array($text, $this->warnings, true)) {
            $this->warnings[] = $text;
        }
    }

    /** Reports whether saving a booking occupies what it did not occupy before. */
    private function occupies($booking, ?array $before): bool
    {
        if (empty($booking->start_date) || !$this->blocks((string) $booking->status, (int) $booking->service_id)) {
            return false;
        }
        if ($before === null || !$this->blocks((string) $before['status'], (int) $before['service_id'])) {
            return true;
        }
        foreach (['agent_id', 'service_id', 'location_id', 'start_date', 'start_time', 'end_time', 'duration'] as $column) {
            if ((string) $booking->$column !== (string) $before[$column]) {
                return true;
            }
        }
        return (int) $booking->total_attendees > (int) $before['total_attendees']
            || (int) $booking->buffer_before > (int) $before['buffer_before']
            || (int) $booking->buffer_after > (int) $before['buffer_after'];
    }

    /** Reports whether bookings of a status occupy their slot. An empty one becomes the default of the service. */
    private function blocks(string $status, int $service): bool
    {
        $status = $status !== '' ? $status : OsBookingHelper::get_default_booking_status($service);
        return in_array(strtolower(trim($status)), array_map('strtolower', $this->blockingStatuses()), true);
    }

    /** @return string[] */
    private function blockingStatuses(): array
    {
        return array_filter(array_map('strval', (array) OsBookingHelper::get_timeslot_blocking_statuses()));
    }

    /**
     * Asks LatePoint whether a slot is free, seats, locations and daily limits included.
     *
     * @param OsBookingModel $booking
     * @param bool $hours Whether the slot must be one that customers are offered.
     */
    private function free($booking, bool $hours): bool
    {
        $this->asking = true;
        try {
            $request = \LatePoint\Misc\BookingRequest::create_from_booking_model($booking);
            // LatePoint shows users of its backend only what they may see, and others nothing.
            $backend = !$hours && OsAuthHelper::get_current_user()->has_backend_access();
            $settings = [
                'exclude_booking_ids' => empty($booking->id) ? [] : [(int) $booking->id],
                'accessed_from_backend' => $backend,
            ];
            if ($hours) {
                return OsBookingHelper::is_booking_request_available($request, $settings);
            }
            $day = new OsWpDateTime($request->start_date);
            $resources = OsResourceHelper::get_resources_grouped_by_day($request, $day, clone $day, $settings);
            foreach ($resources[$day->format('Y-m-d')] ?? [] as $resource) {
                // Outside of the hours nothing is offered, but something may be occupied.
                $resource->work_time_periods = [
                    new \LatePoint\Misc\TimePeriod(
                        ['start_time' => $request->start_time, 'end_time' => $request->start_time + $request->duration]
                    ),
                ];
                if (!$backend) {
                    $resource->blocked_time_periods = []; // when customers may book
                }
                $resource->build_bookable_slots($request, 1440);
                foreach ($resource->slots as $slot) {
                    return $slot->can_accomodate($request->total_attendees);
                }
            }
        } catch (\TypeError $e) {
            // Bookings without an end, which abilities make, are more than LatePoint can read.
            return $this->overlapping($booking) === null;
        } finally {
            $this->asking = false;
        }
        // Nobody offers this service here, and yet it is booked.
        return $this->overlapping($booking) === null;
    }

    /**
     * Returns the first booking that keeps another one out of its slot, as LatePoint's calendar has it: one that takes the agent
     * or the location, or else one of the same service without enough seats left.
     */
    private function overlapping($booking): ?array
    {
        $seats = (int) $booking->total_attendees ?: 1;
        $fellow = null;
        foreach ($this->meeting($booking) as $other) {
            if (!$this->shares($booking, $other)) {
                return $other;
            }
            $seats += (int) $other['total_attendees'];
            $fellow = $fellow ?? $other;
        }
        return $fellow !== null && $this->crowded((int) $booking->service_id, $seats, (int) $booking->total_attendees ?: 1) ? $fellow : null;
    }

    /** Reports whether two bookings at a time share the seats of one service. */
    private function shares($booking, array $other): bool
    {
        return (int) $other['agent_id'] === (int) $booking->agent_id && (int) $other['location_id'] === (int) $booking->location_id
            && (int) $other['service_id'] === (int) $booking->service_id;
    }

    /** Reports whether a service lacks the seats for some attendees, of whom the last are not booked yet. */
    private function crowded(int $service, int $seats, int $last): bool
    {
        global $wpdb;
        $row = $wpdb->get_row(
            $wpdb->prepare("SELECT capacity_min, capacity_max FROM `{$wpdb->prefix}latepoint_services` WHERE id = %d", $service),
            ARRAY_A
        );
        $enough = OsMetaHelper::get_service_meta_by_key('block_timeslot_when_minimum_capacity_met', $service, '') === 'on'
            ? max(1, (int) ($row['capacity_min'] ?? 1))
            : PHP_INT_MAX;
        return $seats > max(1, (int) ($row['capacity_max'] ?? 1)) || $seats - $last >= $enough;
    }

    /**
     * Returns the bookings that meet another one at its agent or, where that counts, at its location, the ones that take it whole first.
     * One that runs past midnight occupies both days; buffers alone do not extend past midnight. An end that cannot be right counts as
     * start plus duration. All as in the sidecar.
     */
    private function meeting($booking): array
    {
        global $wpdb;
        $statuses = $this->blockingStatuses();
        if ($statuses === []) {
            return [];
        }
        $bookings = $wpdb->prefix . 'latepoint_bookings';
        $services = $wpdb->prefix . 'latepoint_services';
        $day = (string) $booking->start_date;
        $start = (int) $booking->start_time;
        $end = $start + (int) $booking->get_total_duration();
        $stored = 'CASE WHEN COALESCE(b.end_time, 0) = 0 OR DATEDIFF(b.end_date, b.start_date) NOT BETWEEN 0 AND 1 '
            . 'OR b.end_date = b.start_date AND b.end_time < b.start_time THEN b.start_time + COALESCE(b.duration, s.duration, 0) '
            . 'WHEN b.end_date > b.start_date AND b.end_time < 1440 THEN 1440 + b.end_time WHEN b.end_date > b.start_date THEN 1440 ELSE b.end_time END';
        [$agent, $service, $location] = [(int) $booking->agent_id, (int) $booking->service_id, (int) $booking->location_id];
        $where = [$agent, $location];
        $place = 'b.location_id = %d';
        if (OsSettingsHelper::is_on('multiple_services_at_time')) {
            $place .= ' AND b.service_id = %d';
            $where[] = $service;
        }
        if (OsSettingsHelper::is_on('one_location_at_time')) {
            $place .= ' OR b.location_id <> %d';
            $where[] = $location;
        }
        $place = "b.agent_id = %d AND ($place)";
        if (OsSettingsHelper::is_on('one_agent_at_location')) {
            $place .= ' OR b.agent_id <> %d AND b.location_id = %d';
            array_push($where, $agent, $location);
        }
        return $wpdb->get_results(
            $wpdb->prepare(
                'SELECT b.id, b.agent_id, b.service_id, b.location_id, b.start_date, b.start_time, b.total_attendees, COALESCE(s.name, \'\') AS service '
                . "FROM `$bookings` b LEFT JOIN `$services` s ON s.id = b.service_id "
                . "WHERE b.start_date BETWEEN DATE_SUB(%s, INTERVAL 1 DAY) AND DATE_ADD(%s, INTERVAL 1 DAY) AND b.id <> %d AND ($place) "
                . 'AND b.status IN (' . implode(', ', array_fill(0, count($statuses), '%s')) . ') '
                . 'AND 1440 * DATEDIFF(b.start_date, %s) + GREATEST(b.start_time - COALESCE(b.buffer_before, 0), 0) < %d '
                . "AND 1440 * DATEDIFF(b.start_date, %s) + LEAST($stored + COALESCE(b.buffer_after, 0), 1440 * CEIL(($stored) / 1440)) > %d "
                . 'ORDER BY b.agent_id = %d AND b.location_id = %d AND b.service_id = %d, b.start_time, b.id LIMIT 1000',
                array_merge(
                    [$day, $day, (int) $booking->id],
                    $where,
                    $statuses,
                    [
                        $day,
                        min($end + (int) $booking->buffer_after, 1440 * (int) ceil($end / 1440)),
                        $day,
                        max($start - (int) $booking->buffer_before, 0),
                        $agent,
                        $location,
                        $service,
                    ]
                )
            ),
            ARRAY_A
        ) ?: [];
    }

    /** Returns the columns of a booking's row that say what it occupies; null if there is none. */
    private function stored(int $id): ?array
    {
        global $wpdb;
        return $wpdb->get_row(
            $wpdb->prepare(
                'SELECT status, agent_id, service_id, location_id, start_date, start_time, end_time, duration, buffer_before, '
                . "buffer_after, total_attendees FROM `{$wpdb->prefix}latepoint_bookings` WHERE id = %d",
                $id
            ),
            ARRAY_A
        );
    }

    /** Returns the rows of the lock table for a booking that is saved: of its old slot and of its new one. */
    private function rowsToMove($booking, ?array $before): array
    {
        $rows = [$this->rowsOf($booking)];
        if ($before !== null) {
            $rows[] = [BooksideLock::BOOKING => [BooksideLock::row(BooksideLock::BOOKING, (int) $booking->id)]];
            $rows[] = $this->rowsOf((object) $before);
        }
        return BooksideLock::join(...$rows);
    }

    /**
     * Returns the rows of the lock table for a slot: its agent, its location if that is used by one agent at a time,
     * and its service if the bookings of a day are limited; of all candidates where any will do.
     *
     * @param object $slot A booking, or something with the same ids.
     */
    private function rowsOf($slot): array
    {
        global $wpdb;
        $service = (int) $slot->service_id;
        $agents = [(int) $slot->agent_id];
        $locations = [(int) $slot->location_id];
        if (!$agents[0] || !$locations[0]) { // any agent or any location: their ids are words
            $offers = $wpdb->get_results(
                $wpdb->prepare(
                    "SELECT agent_id, location_id FROM `{$wpdb->prefix}latepoint_agents_services` WHERE service_id = %d",
                    $service
                )
            );
            $offers = array_filter($offers, static function ($offer) use ($agents, $locations): bool {
                return (!$agents[0] || $agents[0] === (int) $offer->agent_id)
                    && (!$locations[0] || $locations[0] === (int) $offer->location_id);
            });
            $agents = array_column($offers, 'agent_id');
            $locations = array_column($offers, 'location_id');
        }
        $rows = [BooksideLock::AGENT => $agents];
        if (OsSettingsHelper::is_on('one_agent_at_location')) {
            $rows[BooksideLock::LOCATION] = $locations;
        }
        if ((int) OsMetaHelper::get_service_meta_by_key('max_bookings_per_day', $service, 0) !== 0) {
            $rows[BooksideLock::SERVICE] = [$service];
        }
        return $rows;
    }

    /** Takes rows, and makes sites with several database servers read from the one that is written to. */
    private function take(array $rows): bool
    {
        global $wpdb;
        if (method_exists($wpdb, 'send_reads_to_masters')) {
            $wpdb->send_reads_to_masters();
        }
        return $this->lock->take($rows);
    }

    /**
     * Lets others go on when a booking has its row.
     *
     * @param OsModel $model
     */
    public function saved($model): void
    {
        if (!$model instanceof OsBookingModel) {
            return;
        }
        if ($this->flow === '' || $this->flow === 'payment') {
            $this->lock->release(); // what is to be saved after it is kept
        }
        if ($this->flow === 'reschedule' || ($this->flow !== '' && --$this->unsaved < 1)) {
            $this->end();
        }
    }

    /** Releases the lock, and gives back what was kept. */
    public function end(): void
    {
        $this->lock->release();
        $this->holds->drop();
        $this->flow = '';
        $this->refused = false;
        $this->cart = [];
        $this->looked = null;
        $this->statusQuery = '';
    }

    /** @param string $name */
    public function beginAbility($name): void
    {
        if (strpos((string) $name, 'latepoint/') === 0) {
            $this->ability = (string) $name;
        }
    }

    public function endAbility(): void
    {
        $this->ability = '';
        $this->end();
    }

    /** Deletes the order that an ability made for a booking which it was refused then. */
    private function discardOrder($booking): void
    {
        if (!empty($booking->id) || empty($booking->order_item_id)) {
            return;
        }
        try {
            $item = new OsOrderItemModel((int) $booking->order_item_id);
            $order = new OsOrderModel((int) $item->order_id);
            if (!empty($order->id) && count($order->get_items(true)) === 1 && !(new OsBookingModel())->where(['order_item_id' => $item->id])->count()) {
                $order->delete();
            }
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
        }
    }

    /**
     * Looks before a change of status alone, which LatePoint tells in no other way, and refuses it by returning ''.
     *
     * @param string $query A statement that updates bookings.
     */
    public function statusChange(string $query): string
    {
        global $wpdb;
        if (
            $this->asking || stripos($query, 'start_date') !== false
            || !preg_match(self::STATUS_CHANGE, $query, $parts)
            || !$this->blocks($parts[1], 0)
        ) {
            return $query;
        }
        try {
            $booking = new OsBookingModel((int) $parts[2]);
            $before = (string) $booking->status;
            $booking->status = $parts[1];
            $refusal = empty($booking->id) || $this->blocks($before, (int) $booking->service_id) ? '' : $this->guard($booking, false);
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
            return $query;
        }
        if ($refusal !== '') {
            $wpdb->last_error = $refusal;
            return '';
        }
        $this->statusQuery = $query;
        return $query;
    }

    /** Releases the lock of a change of status that has run. */
    public function queryRan(string $last): void
    {
        if ($this->statusQuery !== '' && $this->statusQuery === $last) {
            $this->statusQuery = '';
            if ($this->flow === '' || $this->flow === 'payment') {
                $this->lock->release();
            }
        }
    }
}

/**
 * Enters the changes that WordPress makes into the journal of Bookside, in the form that adapter/journal/inbox.go in
 * Bookside describes. It watches the statements themselves: LatePoint has no event for many of them.
 *
 * A statement is noted before it runs, and settled when the next one comes or the request ends. What is noted is
 * entered at the end of the request, or after a second, in one statement. What gets lost, for example when PHP is
 * killed, is found by the server.
 */
class BooksideJournal
{
    private const RESOURCES = [
        'bookings' => 'bookings',
        'customers' => 'customers',
        'orders' => 'orders',
        'transactions' => 'payments',
        'order_invoices' => 'invoices',
        'services' => 'services',
        'agents' => 'agents',
        'locations' => 'locations',
        'coupons' => 'coupons',
    ];

    private const ITEMS = 'order_items'; // which say to what deleted orders belonged
    private const MOST_ROWS = 5000; // of one statement: what changes more is left to the server
    private const MOST_ENTRIES = 200; // of one INSERT
    private const PATIENCE = 1.0; // seconds until changes are entered, in a request that takes long
    private const ASSIGNMENT = ['agent_id', 'service_id', 'location_id', 'customer_id']; // columns of bookings, and of the inbox
    private const UNKNOWN_COLUMN = 1054; // error of MySQL

    private BooksideSlots $slots;
    private BooksideBelonged $belonged;

    /** @var bool Whether a statement of this class itself is running. */
    private bool $busy = false;

    /**
     * @var array|null The statement that was noted: query, kind, resource, ids; bookings, as they were before, and to what
     *      those of other records belonged, by id.
     */
    private ?array $open = null;

    /**
     * @var array<string,array{prefix:string,resource:string,id:int,kind:string,before:?array,belonged:string}> Changes that are not entered yet;
     *      with the prefix of tables, because a network's sites have inboxes of their own.
     */
    private array $changes = [];

    /** @var float When the first of them was made. */
    private float $since = 0.0;

    /** @var array<string,string> Patterns of watched statements, by the prefix of tables. */
    private array $patterns = [];

    public function __construct(BooksideSlots $slots)
    {
        $this->slots = $slots;
        $this->belonged = new BooksideBelonged();
    }

    public function register(): void
    {
        add_filter('query', [$this, 'query'], PHP_INT_MAX);
        add_action('shutdown', [$this, 'finish'], PHP_INT_MAX);
    }

    /**
     * Settles the statement before and notes this one. Runs for every statement of every request.
     *
     * @param mixed $query
     */
    public function query($query)
    {
        if ($this->busy || !is_string($query) || $query === '') {
            return $query;
        }
        if ($this->open !== null) {
            $this->settle();
        }
        switch ($query[0]) {
            case 'S':
            case 's':
                if (($query[1] ?? '') !== 'T' && ($query[1] ?? '') !== 't') {
                    return $query; // SELECT, SHOW, SET
                }
                break;
            case 'D':
            case 'E':
                if (($query[2] ?? '') !== 'L') {
                    return $query; // DESCRIBE, EXPLAIN
                }
                break;
        }
        try {
            return $this->note($query);
        } catch (\Throwable $e) {
            $this->open = null;
            bookside_companion_failed('journal', $e->getMessage());
            return $query;
        }
    }

    private function note(string $query): string
    {
        global $wpdb;
        $pattern = $this->patterns[$wpdb->prefix] ?? ($this->patterns[$wpdb->prefix] = $this->pattern($wpdb->prefix));
        if (!preg_match($pattern, $query, $parts)) {
            return $query;
        }
        if (($parts['transaction'] ?? '') !== '') {
            if (strncasecmp($parts['transaction'], 'ROLLBACK', 8) === 0) {
                $this->changes = []; // those from before the transaction were entered when it began
            } else {
                $this->enter();
            }
            return $query;
        }
        $verb = strtoupper($parts['verb']);
        if (strtolower($parts['table']) === self::ITEMS) {
            if ($verb === 'DELETE') {
                $this->belonged->itemsGo($wpdb->prefix, $this->affected($query, $parts['name'], 'id, order_id'));
            }
            return $query;
        }
        $resource = self::RESOURCES[strtolower($parts['table'])];
        if ($verb === 'UPDATE' && $resource === 'bookings') {
            $query = $this->slots->statusChange($query);
            if ($query === '') {
                return '';
            }
        }
        $note = ['query' => $query, 'prefix' => $wpdb->prefix, 'resource' => $resource, 'ids' => [], 'bookings' => [], 'belonged' => []];
        if ($verb === 'INSERT' || $verb === 'REPLACE') {
            $note['kind'] = 'created';
        } else {
            $note['kind'] = $verb === 'DELETE' ? 'deleted' : 'updated';
            $columns = $verb === 'DELETE' ? BooksideBelonged::COLUMNS[$resource] ?? 'id' : 'id';
            $rows = $this->affected($query, $parts['name'], $resource === 'bookings' ? self::bookingColumns() : $columns);
            foreach ($rows as $row) {
                $note['ids'][] = (int) $row[0];
                if ($resource === 'bookings') {
                    $note['bookings'][(int) $row[0]] = self::booking($row);
                }
            }
            if ($verb === 'DELETE') {
                $note['belonged'] = $this->belonged->go($wpdb->prefix, $resource, $rows, $note['bookings']);
            }
            if ($note['ids'] === []) {
                return $query;
            }
        }
        $this->open = $note;
        return $query;
    }

    /** Returns the pattern of the statements that matter: those that change watched tables, and of transactions. */
    private function pattern(string $prefix): string
    {
        return '/^\s*(?:(?<transaction>START\s+TRANSACTION\b[^;]*|(?:BEGIN|ROLLBACK)(?:\s+WORK)?)\s*;?\s*$'
            . '|(?<verb>INSERT|REPLACE|UPDATE|DELETE)\s+(?:(?:LOW_PRIORITY|HIGH_PRIORITY|DELAYED|QUICK|IGNORE|INTO|FROM)\s+)*'
            . '(?<name>`?' . preg_quote($prefix, '/') . 'latepoint_(?<table>' . implode('|', array_keys(self::RESOURCES)) . '|' . self::ITEMS . ')`?)[\s(])/i';
    }

    /**
     * Returns the rows that an UPDATE or DELETE of one table is about to change: a SELECT with the same conditions.
     *
     * @return array<int,array<int,string|null>>
     */
    private function affected(string $query, string $table, string $columns): array
    {
        global $wpdb;
        $masked = preg_replace_callback(
            '/\'(?:[^\'\\\\]++|\\\\.|\'\')*+\'|"(?:[^"\\\\]++|\\\\.|"")*+"/s',
            static function (array $literal): string {
                return str_repeat('x', strlen($literal[0]));
            },
            $query
        );
        if ($masked === null || !$wpdb->dbh instanceof mysqli) {
            return [];
        }
        $at = preg_match('/\sWHERE\s/i', $masked, $found, PREG_OFFSET_CAPTURE) ? $found[0][1] : null;
        if ($at !== null && $columns === 'id' && preg_match('/\sWHERE\s+`?id`?\s*=\s*\'?(\d+)\'?\s*$/i', substr($query, $at), $id)) {
            return [[$id[1]]];
        }
        // The same connection, so that a transaction sees its own rows; and not $wpdb, whose state the statement needs.
        $rows = mysqli_query($wpdb->dbh, "SELECT $columns FROM $table" . ($at === null ? '' : substr($query, $at)));
        $found = $rows instanceof mysqli_result && mysqli_num_rows($rows) <= self::MOST_ROWS ? mysqli_fetch_all($rows) : [];
        return $found;
    }

    /** Looks what the statement that was noted has changed. */
    private function settle(): void
    {
        global $wpdb;
        $last = (string) $wpdb->last_query;
        if ($last !== $this->open['query'] && strpos($last, $this->open['query']) === false) {
            return; // $wpdb asks for the columns before it runs the statement, to which filters may have added a comment
        }
        $note = $this->open;
        $this->open = null;
        try {
            $this->slots->queryRan($note['query']);
            $changed = (int) $wpdb->rows_affected;
            if ($changed < 1) {
                return;
            }
            if ($note['kind'] === 'created') {
                if (!$wpdb->dbh instanceof mysqli) {
                    return; // a database of another make
                }
                $first = (int) mysqli_insert_id($wpdb->dbh); // $wpdb->insert_id is reset before the next statement
                $note['ids'] = $first > 0 ? range($first, $first + min($changed, self::MOST_ROWS) - 1) : [];
                if ($changed > 1 && preg_match('/^\s*REPLACE|\sON\s+DUPLICATE\s+KEY\s/i', $note['query'])) {
                    return; // which rows are new, and which were there, is not known
                }
            }
            foreach ($note['ids'] as $id) {
                $this->add($note, $id);
            }
            if (count($this->changes) >= self::MOST_ENTRIES || microtime(true) - $this->since > self::PATIENCE) {
                $this->enter();
            }
        } catch (\Throwable $e) {
            bookside_companion_failed('journal', $e->getMessage());
        }
    }

    /** Adds a change. Several of one record become one entry, unless it was deleted in between. */
    private function add(array $note, int $id): void
    {
        $key = "$note[prefix] $note[resource] $id";
        if ($note['kind'] === 'deleted') {
            $key .= ' deleted';
        } elseif (isset($this->changes[$key])) {
            return;
        }
        if ($this->changes === []) {
            $this->since = microtime(true);
        }
        $this->changes[$key] = [
            'prefix' => $note['prefix'], 'resource' => $note['resource'], 'id' => $id, 'kind' => $note['kind'], 'before' => $note['bookings'][$id] ?? null,
            'belonged' => $note['belonged'][$id] ?? '',
        ];
    }

    /** The columns of a booking that entries tell about, and its item. */
    private static function bookingColumns(): string
    {
        return 'id, status, order_item_id, ' . implode(', ', self::ASSIGNMENT);
    }

    /** Returns a row of these columns: the status, the item, and to what the booking belongs. */
    private static function booking(array $row): array
    {
        return ['status' => (string) $row[1], 'item' => (int) $row[2], 'assignment' => array_map('intval', array_slice($row, 3))];
    }

    /** Enters the changes into the inboxes. */
    private function enter(): void
    {
        $changes = $this->changes;
        $this->changes = [];
        foreach (array_unique(array_column($changes, 'prefix')) as $prefix) {
            $this->enterInto($prefix, array_filter($changes, static function (array $change) use ($prefix): bool {
                return $change['prefix'] === $prefix;
            }));
        }
    }

    /** Enters the changes of one site into its inbox. */
    private function enterInto(string $prefix, array $changes): void
    {
        global $wpdb;
        $this->busy = true;
        $quiet = $wpdb->suppress_errors();
        try {
            $bookings = $this->bookings($prefix, $changes);
            $actor = function_exists('wp_get_current_user') ? get_current_user_id() : 0;
            foreach (array_chunk($changes, self::MOST_ENTRIES) as $part) {
                $rows = [];
                foreach ($part as $change) {
                    $now = $change['resource'] === 'bookings' && $change['kind'] !== 'deleted' ? $bookings[$change['id']] ?? null : null;
                    $before = $change['before'];
                    $moved = ($now['assignment'] ?? null) !== ($before['assignment'] ?? null);
                    $row = $wpdb->prepare('%s, %d, %s, ', $change['resource'], $change['id'], $change['kind'])
                        . "'site', " . ($actor > 0 ? (int) $actor : 'NULL') . ', '
                        . ($now !== null && $now['status'] !== ($before['status'] ?? null) ? $wpdb->prepare('%s', $now['status']) : 'NULL') . ', UTC_TIMESTAMP()';
                    $rows[] = [
                        $row,
                        self::assignment($moved ? $now : null) . ', ' . self::assignment($moved ? $before : null),
                        $change['belonged'] === '' ? 'NULL' : $wpdb->prepare('%s', $change['belonged']),
                    ];
                }
                if (!$this->insert($prefix, $rows)) {
                    bookside_companion_failed('journal', (string) $wpdb->last_error);
                }
            }
        } catch (\Throwable $e) {
            bookside_companion_failed('journal', $e->getMessage());
        } finally {
            $wpdb->suppress_errors($quiet);
            $this->busy = false;
        }
    }

    /** Returns the values of an assignment in SQL: NULL where nothing is stored, or no booking is given. */
    private static function assignment(?array $booking): string
    {
        return implode(', ', array_map(static function (int $id): string {
            return $id > 0 ? (string) $id : 'NULL';
        }, $booking['assignment'] ?? array_fill(0, count(self::ASSIGNMENT), 0)));
    }

    /** Inserts rows into an inbox, each in three parts. That of an earlier Bookside has no columns for the later ones. */
    private function insert(string $prefix, array $rows): bool
    {
        global $wpdb;
        $old = array_map(static function (string $column): string {
            return "old_$column";
        }, self::ASSIGNMENT);
        $columns = ['resource, resource_id, kind, origin, actor_id, status, at', implode(', ', array_merge(self::ASSIGNMENT, $old)), 'belonged'];
        for ($parts = count($columns); $parts > 0; $parts--) {
            $values = array_map(static function (array $row) use ($parts): string {
                return '(' . implode(', ', array_slice($row, 0, $parts)) . ')';
            }, $rows);
            $into = "`{$prefix}bookside_change_inbox` (" . implode(', ', array_slice($columns, 0, $parts)) . ')';
            if ($wpdb->query("INSERT INTO $into VALUES " . implode(', ', $values)) !== false) {
                return true;
            }
            if (!$wpdb->dbh instanceof mysqli || mysqli_errno($wpdb->dbh) !== self::UNKNOWN_COLUMN) {
                return false;
            }
        }
        return false;
    }

    /** Returns the bookings as they are now, by id. */
    private function bookings(string $prefix, array $changes): array
    {
        global $wpdb;
        $ids = [];
        foreach ($changes as $change) {
            if ($change['resource'] === 'bookings' && $change['kind'] !== 'deleted') {
                $ids[] = (int) $change['id'];
            }
        }
        if ($ids === []) {
            return [];
        }
        $rows = $wpdb->get_results(
            'SELECT ' . self::bookingColumns() . " FROM `{$prefix}latepoint_bookings` WHERE id IN (" . implode(', ', $ids) . ')',
            ARRAY_N
        );
        $found = [];
        foreach ($rows ?: [] as $row) {
            $found[(int) $row[0]] = self::booking($row);
        }
        return $found;
    }

    /** Enters what the end of the request leaves. */
    public function finish(): void
    {
        if ($this->open !== null) {
            $this->settle();
        }
        $this->enter();
    }
}

/**
 * Knows to what the bookings of customers, orders, payments and invoices belonged that a request deletes, so that those
 * who saw them learn of it. LatePoint deletes bookings and items before what they are part of: it is remembered then.
 */
class BooksideBelonged
{
    /** What is to be known of rows that are deleted, by resource: their ids, and the order or the customer of each. */
    public const COLUMNS = ['customers' => 'id', 'orders' => 'id, customer_id', 'payments' => 'id, order_id', 'invoices' => 'id, order_id'];

    private const MOST_ORDERS = 500; // of one statement: nobody learns to whom the orders of more belonged

    /**
     * @var array<string,array<int,string[]>> To what the bookings of items, orders and customers belonged, by the table and by
     *      id. Each text has the ids of agent, service and location.
     */
    private array $known = [];

    /**
     * Returns to what the bookings of records belong that are about to be deleted, as the journal has it, by id.
     *
     * @param array<int,array<int,string|null>> $rows Of the columns above.
     * @param array<int,array{item:int,assignment:int[]}> $bookings Those that are about to be deleted, by id.
     * @return array<int,string>
     */
    public function go(string $prefix, string $resource, array $rows, array $bookings): array
    {
        foreach ($bookings as $booking) {
            [$agent, $service, $location, $customer] = $booking['assignment'];
            $this->know($prefix . 'order_items', $booking['item'], ["$agent-$service-$location"]);
            $this->know($prefix . 'customers', $customer, ["$agent-$service-$location"]);
        }
        if (!isset(self::COLUMNS[$resource]) || $rows === []) {
            return [];
        }
        $ids = array_map('intval', array_column($rows, 0));
        if ($resource === 'customers') {
            $this->customersGo($prefix, $ids);
        } else {
            $this->itemsOf($prefix, $resource === 'orders' ? $ids : array_column($rows, 1));
        }
        $through = $resource === 'payments' || $resource === 'invoices' ? 1 : 0;
        $found = [];
        foreach ($rows as $row) {
            $belonged = $this->known[$prefix . ($resource === 'customers' ? 'customers' : 'orders')][(int) $row[$through]] ?? [];
            $found[(int) $row[0]] = implode(' ', $belonged);
            if ($resource === 'orders') {
                $this->know($prefix . 'customers', (int) $row[1], $belonged);
            }
        }
        return $found;
    }

    /** Remembers to what the bookings of items belong that are about to be deleted: rows of their ids and orders. */
    public function itemsGo(string $prefix, array $rows): void
    {
        $this->itemsOf($prefix, array_column($rows, 1));
    }

    private function customersGo(string $prefix, array $ids): void
    {
        $these = implode(', ', $ids);
        $bookings = "SELECT DISTINCT customer_id, agent_id, service_id, location_id FROM `{$prefix}latepoint_bookings`";
        foreach ($this->rows("$bookings WHERE customer_id IN ($these)") as $row) {
            $this->know($prefix . 'customers', (int) $row[0], [sprintf('%d-%d-%d', $row[1], $row[2], $row[3])]);
        }
        $orders = $this->rows("SELECT id, customer_id FROM `{$prefix}latepoint_orders` WHERE customer_id IN ($these)");
        $this->itemsOf($prefix, array_column($orders, 0));
        foreach ($orders as [$order, $customer]) {
            $this->know($prefix . 'customers', (int) $customer, $this->known[$prefix . 'orders'][(int) $order] ?? []);
        }
    }

    /**
     * Learns to what the bookings of orders belong. The JSON of an item names its booking, and says to what one belonged
     * that went in an earlier request; the bookings of a bundle are searched among those of the customer.
     */
    private function itemsOf(string $prefix, array $orders): void
    {
        $orders = array_unique(array_filter(array_map('intval', $orders)));
        if ($orders === [] || count($orders) > self::MOST_ORDERS) {
            return;
        }
        $items = $named = $bundled = [];
        $stored = "SELECT id, order_id, item_data FROM `{$prefix}latepoint_order_items` WHERE order_id IN (" . implode(', ', $orders) . ')';
        foreach ($this->rows($stored) as [$id, $order, $json]) {
            $data = json_decode((string) $json, true);
            $items[(int) $id] = ['order' => (int) $order, 'data' => is_array($data) ? $data : []];
            $booking = self::id($items[(int) $id]['data'], 'id');
            if ($booking > 0) {
                $named[] = $booking;
            } else {
                $bundled[] = (int) $order;
            }
        }
        $found = $this->bookingsOf($prefix, array_keys($items), $named, $bundled);
        foreach ($items as $id => ['order' => $order, 'data' => $data]) {
            $gone = $this->known[$prefix . 'order_items'][$id]
                ?? [self::id($data, 'agent_id') . '-' . self::id($data, 'service_id') . '-' . self::id($data, 'location_id')];
            $this->know($prefix . 'orders', $order, $found[$id] ?? $gone);
        }
    }

    /**
     * Returns to what the bookings of items belong, by item: those that are named, and those of the customers of orders
     * with bundles.
     *
     * @return array<int,string[]>
     */
    private function bookingsOf(string $prefix, array $items, array $named, array $bundled): array
    {
        $of = $named === [] ? [] : ['id IN (' . implode(', ', $named) . ')'];
        if ($bundled !== []) {
            $rows = $this->rows("SELECT DISTINCT customer_id FROM `{$prefix}latepoint_orders` WHERE id IN (" . implode(', ', $bundled) . ')');
            $customers = array_filter(array_map('intval', array_column($rows, 0)));
            $of = $customers === [] ? $of : array_merge($of, ['customer_id IN (' . implode(', ', $customers) . ')']);
        }
        if ($of === []) {
            return [];
        }
        $found = [];
        $bookings = "SELECT order_item_id, agent_id, service_id, location_id FROM `{$prefix}latepoint_bookings`";
        foreach ($this->rows("$bookings WHERE (" . implode(' OR ', $of) . ') AND order_item_id IN (' . implode(', ', $items) . ')') as $row) {
            $found[(int) $row[0]][] = sprintf('%d-%d-%d', $row[1], $row[2], $row[3]);
        }
        return $found;
    }

    /** Returns an id in the JSON of an item, a number or a text; 0 for anything else. */
    private static function id(array $data, string $key): int
    {
        $id = $data[$key] ?? 0;
        return is_int($id) || (is_string($id) && ctype_digit($id)) ? (int) $id : 0;
    }

    private function know(string $of, int $id, array $belonged): void
    {
        $this->known[$of][$id] = array_values(array_unique(array_merge($this->known[$of][$id] ?? [], $belonged)));
    }

    /** Returns rows by the same connection, so that a transaction sees its own, and not by $wpdb, whose state the statement needs. */
    private function rows(string $query): array
    {
        global $wpdb;
        $rows = $wpdb->dbh instanceof mysqli ? mysqli_query($wpdb->dbh, $query) : null;
        return $rows instanceof mysqli_result ? mysqli_fetch_all($rows) : [];
    }
}

/**
 * Asks before LatePoint's form of an order or a customer is saved over what others changed while it was open. Such a
 * form writes all of its fields, also those that nobody touched.
 *
 * The form carries the fingerprints of the records that it was opened with. If one of them differs when the form comes
 * back, nothing is saved, and the answer says what changed and gives the form the present fingerprints: whoever sends
 * it once more has been asked.
 */
class BooksideForms
{
    private const FIELD = 'bookside_opened';

    /** Forms by the routes that save them: the parameter with the record, and the action of LatePoint's nonce. */
    private const SAVED_BY = [
        'orders__update' => ['order', 'edit_order_'],
        'orders__create' => ['order', 'edit_order_'],
        'customers__update' => ['customer', 'edit_customer_'],
    ];

    /** @var array<string,string> What forms are opened with, by the kind and the number of the record. */
    private static array $opened = [];

    public static function register(): void
    {
        add_action('wp_ajax_latepoint_route_call', [self::class, 'begin'], PHP_INT_MIN);
        add_action('latepoint_order_quick_edit_form_content_after', [self::class, 'showOrder']);
        add_action('latepoint_customer_edit_form_after', [self::class, 'showCustomer']);
    }

    /** Runs before LatePoint reads or saves a form. */
    public static function begin(): void
    {
        $post = wp_unslash($_POST['params'] ?? ''); // phpcs:ignore -- LatePoint's nonce is verified below
        $parameters = $post;
        if (is_string($post)) {
            parse_str($post, $parameters);
        }
        $parameters = array_merge((array) $parameters, wp_unslash($_GET)); // phpcs:ignore -- as LatePoint does
        $route = $_GET['route_name'] ?? $_POST['route_name'] ?? ''; // phpcs:ignore -- only compared
        try {
            if ($route === 'orders__quick_edit' || $route === 'customers__quick_edit') {
                self::open($route === 'orders__quick_edit' ? 'order' : 'customer', $parameters);
            } elseif (is_string($route) && isset(self::SAVED_BY[$route])) {
                self::check($parameters, ...self::SAVED_BY[$route]);
            }
        } catch (\Throwable $e) {
            bookside_companion_failed('forms', $e->getMessage());
        }
    }

    /** Remembers what a form is opened with: before LatePoint reads it, so that no change in between gets lost. */
    private static function open(string $kind, array $parameters): void
    {
        global $wpdb;
        $id = (int) ($parameters[$kind === 'order' ? 'id' : 'customer_id'] ?? 0);
        if ($kind === 'order' && !empty($parameters['booking_id'])) {
            $id = (int) $wpdb->get_var(
                $wpdb->prepare(
                    "SELECT i.order_id FROM `{$wpdb->prefix}latepoint_bookings` b JOIN `{$wpdb->prefix}latepoint_order_items` i "
                    . 'ON i.id = b.order_item_id WHERE b.id = %d',
                    $parameters['booking_id']
                )
            );
        }
        if ($id > 0) {
            self::$opened["$kind $id"] = self::text(self::fingerprints($kind, $id));
        }
    }

    /** @param OsOrderModel $order */
    public static function showOrder($order): void
    {
        self::show('order', (int) $order->id);
    }

    /** @param OsCustomerModel $customer */
    public static function showCustomer($customer): void
    {
        self::show('customer', (int) $customer->id);
    }

    private static function show(string $kind, int $id): void
    {
        if (isset(self::$opened["$kind $id"])) {
            printf('<input type="hidden" name="%s" value="%s">', esc_attr(self::FIELD), esc_attr(self::$opened["$kind $id"]));
        }
    }

    /** Answers a form that is older than what it would overwrite. LatePoint refuses those without its nonce. */
    private static function check(array $parameters, string $kind, string $nonce): void
    {
        $id = (int) ($parameters[$kind]['id'] ?? 0);
        $opened = $parameters[self::FIELD] ?? '';
        if ($id < 1 || !is_string($opened) || $opened === '' || !wp_verify_nonce($parameters['_wpnonce'] ?? '', $nonce . $id)) {
            return;
        }
        $before = [];
        foreach (explode(' ', $opened) as $part) {
            [$record, $fingerprint] = explode('=', $part) + ['', ''];
            $before[$record] = $fingerprint;
        }
        $now = self::fingerprints($kind, $id);
        $changed = array_keys(array_diff_assoc($before, $now) + array_diff_assoc($now, $before));
        if ($changed === []) {
            return;
        }
        $fields = [self::FIELD => self::text($now)];
        $text = sprintf(
            /* translators: %s: a list such as "booking 17 (2031-03-03 10:00, approved), payment 4". */
            __('Nothing was saved, because others changed this since you opened it: %s. Save again to overwrite their changes, or open it anew to see them.', 'bookside'),
            implode(', ', array_unique(array_map(static function (string $record) use ($now): string {
                return self::describe($record, isset($now[$record]));
            }, $changed)))
        );
        wp_send_json(
            ['status' => 'error', 'message' => esc_html($text), 'fields_to_update' => $fields, 'form_values_to_update' => $fields]
        );
    }

    private static function text(array $fingerprints): string
    {
        $parts = [];
        foreach ($fingerprints as $record => $fingerprint) {
            $parts[] = "$record=$fingerprint";
        }
        return implode(' ', $parts);
    }

    /**
     * Returns a fingerprint of each record that a form shows: an order with its items, bookings, payments and customer, or
     * a customer.
     *
     * @return array<string,string> By kind and number, such as booking:17.
     */
    private static function fingerprints(string $kind, int $id): array
    {
        if ($kind === 'customer') {
            return self::rows('customer', 'customers', 'SELECT id, first_name, last_name, email, phone, notes, admin_notes FROM %s', "id = $id");
        }
        global $wpdb;
        $items = $wpdb->prefix . 'latepoint_order_items';
        $customer = (int) $wpdb->get_var("SELECT customer_id FROM `{$wpdb->prefix}latepoint_orders` WHERE id = $id");
        return self::rows('order', 'orders', 'SELECT * FROM %s', "id = $id")
            + self::rows('item', 'order_items', 'SELECT * FROM %s', "order_id = $id")
            + self::rows('booking', 'bookings', 'SELECT * FROM %s', "order_item_id IN (SELECT id FROM `$items` WHERE order_id = $id)")
            + self::rows('payment', 'transactions', 'SELECT * FROM %s', "order_id = $id")
            + self::fingerprints('customer', $customer);
    }

    /** Returns the fingerprints of rows and of the custom fields that they have. When a row was saved does not count. */
    private static function rows(string $kind, string $table, string $select, string $where): array
    {
        global $wpdb;
        $prefix = $wpdb->prefix . 'latepoint_';
        $found = [];
        foreach ($wpdb->get_results(sprintf($select, "`$prefix$table`") . " WHERE $where ORDER BY id", ARRAY_A) as $row) {
            unset($row['updated_at']);
            $found[(int) $row['id']] = $row;
        }
        if ($found !== [] && ($kind === 'booking' || $kind === 'customer')) {
            $metas = $wpdb->get_results(
                "SELECT object_id, meta_key, meta_value FROM `{$prefix}{$kind}_meta` WHERE meta_key LIKE 'cf\\_%' AND object_id IN ("
                . implode(', ', array_keys($found)) . ') ORDER BY id'
            );
            foreach ($metas as $meta) {
                $found[(int) $meta->object_id][$meta->meta_key] = $meta->meta_value;
            }
        }
        $fingerprints = [];
        foreach ($found as $id => $row) {
            $fingerprints["$kind:$id"] = substr(hash('sha256', (string) wp_json_encode(array_values($row))), 0, 16);
        }
        return $fingerprints;
    }

    /** Names a record that changed, and tells how a booking is now, if it is there still. */
    private static function describe(string $record, bool $there): string
    {
        global $wpdb;
        [$kind, $id] = explode(':', $record) + ['', ''];
        $id = (int) $id;
        switch ($kind) {
            case 'order':
            case 'item':
                return __('the order', 'bookside');
            case 'payment':
                /* translators: %d: number of a payment. */
                return sprintf(__('payment %d', 'bookside'), $id);
            case 'customer':
                return __('the customer', 'bookside');
        }
        $row = !$there ? null : $wpdb->get_row(
            $wpdb->prepare("SELECT start_date, start_time, status FROM `{$wpdb->prefix}latepoint_bookings` WHERE id = %d", $id)
        );
        if (!$row) {
            /* translators: %d: number of a booking. */
            return sprintf(__('booking %d (removed)', 'bookside'), $id);
        }
        $time = sprintf('%s %02d:%02d', $row->start_date, intdiv((int) $row->start_time, 60), (int) $row->start_time % 60);
        /* translators: 1: number of a booking. 2: a date and a time. 3: a status. */
        return sprintf(__('booking %1$d (%2$s, %3$s)', 'bookside'), $id, $time, $row->status);
    }
}

/**
 * Runs LatePoint's jobs, such as reminders, in WordPress's cron: LatePoint itself schedules nothing that would.
 *
 * The event is scheduled once and again before each run, never as a recurring one: so it goes away by itself when
 * this file is removed.
 */
class BooksideJobs
{
    private const HOOK = 'latepoint_process_scheduled_jobs';
    private const INTERVAL = 300; // seconds
    private const LEASE = 900; // seconds for which a run keeps others away, should it die

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
     * Gives the mails of the API that were sent the process that they come from: LatePoint's list says of others that their
     * process was deleted. While they wait they have none, because LatePoint would not queue another mail of that process.
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
     * Schedules the next run before the present one is taken from the cron, so that there always is one: Bookside
     * queues mails only for a site that has it. Two requests at a time may have scheduled two: then only the last
     * one has a next.
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
        if (!class_exists('OsProcessJobsHelper') || !self::claim(0, time() + self::LEASE)) {
            return;
        }
        ob_start(); // LatePoint prints what it did
        try {
            OsProcessJobsHelper::process_scheduled_jobs();
        } catch (\Throwable $e) {
            bookside_companion_failed('jobs', $e->getMessage());
        } finally {
            ob_end_clean();
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

/**
 * Keeps a server that hangs from taking all processes of PHP, and with them the whole site: at most half of them forward at a
 * time, and after a time-out nobody does for a few seconds; from then on one request at a time tries, until one is answered.
 *
 * The processes share a directory of empty files. A lock on a file is a slot, which the system frees when its process dies, and
 * the time of another file is that of the last time-out. While all is well nothing is written.
 */
class BooksideGate
{
    private const PAUSE = 5; // seconds after a time-out
    private const WORKERS = 5; // that PHP is taken to have where it does not say: the most of PHP-FPM's own example
    private const TIMEOUT = 15.0; // seconds that the server takes for a request at most, until it has said so

    private string $folder;

    /** Begin of the names of files about one server. */
    private string $server;

    /** @var array{timeout:float,key:?string,cors:?bool}|null */
    private ?array $told = null;

    private string $telling = '';

    /** @var resource[] Files that are locked until this request leaves. */
    private array $locked = [];

    private bool $probing = false;

    private function __construct(string $folder, string $server)
    {
        $this->folder = $folder;
        $this->server = $folder . '/' . md5($server);
    }

    /** Returns the gate before a server; null if this PHP has no directory of its own for it. */
    public static function before(string $server): ?self
    {
        $folder = self::folder();
        if (!is_dir($folder)) {
            @mkdir($folder, 0700); // phpcs:ignore -- another process may be faster
            clearstatcache();
        }
        // In a directory that others of this machine share, somebody else may have taken the name.
        $ours = !is_link($folder) && is_dir($folder) && is_writable($folder) && (DIRECTORY_SEPARATOR !== '/' || (fileperms($folder) & 077) === 0);
        return $ours ? new self($folder, $server) : null;
    }

    /** Returns the directory of all sites of this user, because they share the processes. */
    public static function folder(): string
    {
        $user = function_exists('posix_geteuid') ? posix_geteuid() : get_current_user();
        return get_temp_dir() . 'bookside-' . substr(md5($user . ' ' . self::pool()), 0, 16);
    }

    /** Returns why a request may not be forwarded now, for its client; '' if it may. What it takes it keeps until it leaves. */
    public function enter(): string
    {
        $hung = $this->hungAt();
        if ($hung !== 0) {
            $age = time() - $hung;
            if (($age >= 0 && $age <= self::PAUSE) || !$this->lock($this->server . '.probe') || $this->hungAt() > $hung) {
                return 'The server of the API does not answer at the moment.';
            }
            $this->probing = true;
        }
        for ($i = 0, $slots = self::slots(); $i < $slots; $i++) {
            if ($this->lock($this->folder . '/slot-' . $i)) {
                return '';
            }
        }
        return 'Too many requests are forwarded to the server of the API at the moment.';
    }

    /** Makes room for another request. */
    public function leave(): void
    {
        array_map('fclose', $this->locked);
        $this->locked = [];
    }

    /** Notes that the server did not answer in time. */
    public function timedOut(): void
    {
        touch($this->server . '.hung');
    }

    /** Notes that the server answered, and what it told about itself. */
    public function answered(string $telling): void
    {
        if ($this->probing) {
            @unlink($this->server . '.hung'); // phpcs:ignore -- it may be gone
        }
        $this->told();
        if ($telling === '' || $telling === $this->telling) {
            return;
        }
        $new = tempnam($this->folder, 'new');
        if ($new !== false && file_put_contents($new, $telling) !== false) {
            rename($new, $this->server . '.told');
        }
    }

    /**
     * Returns what the server told when it last answered: the time limit of a request in seconds, the query parameter that may have
     * the key ('' for none), and whether answers depend on the origin of a page. The last two are null before it told anything.
     *
     * @return array{timeout:float,key:?string,cors:?bool}
     */
    public function told(): array
    {
        if ($this->told === null) {
            $this->telling = is_file($this->server . '.told') ? (string) file_get_contents($this->server . '.told') : '';
            parse_str($this->telling, $told);
            $timeout = is_numeric($told['timeout'] ?? null) ? (float) $told['timeout'] : 0.0;
            $this->told = [
                'timeout' => $timeout > 0 ? $timeout : self::TIMEOUT,
                'key' => is_string($told['key'] ?? null) ? $told['key'] : null,
                'cors' => isset($told['cors']) ? $told['cors'] === '1' : null,
            ];
        }
        return $this->told;
    }

    /** Returns when the server last did not answer in time, as long as it counts (Unix time); 0 for never. */
    private function hungAt(): int
    {
        clearstatcache();
        return is_file($this->server . '.hung') ? (int) filemtime($this->server . '.hung') : 0;
    }

    /** Locks a file until this request leaves, and reports whether nobody else had. */
    private function lock(string $name): bool
    {
        $file = @fopen($name, 'c'); // phpcs:ignore -- without it there is no slot
        if ($file === false || !flock($file, LOCK_EX | LOCK_NB)) {
            return false;
        }
        $this->locked[] = $file;
        return true;
    }

    /** Returns how many requests may be forwarded at a time: half as many as there are processes, or what wp-config.php says. */
    public static function slots(): int
    {
        $set = defined('BOOKSIDE_FORWARDED_AT_ONCE') ? (int) constant('BOOKSIDE_FORWARDED_AT_ONCE') : 0;
        return max(1, $set > 0 ? $set : intdiv(self::workers() ?: self::WORKERS, 2));
    }

    /** Returns how many processes of PHP there are at most, if that can be found out; else 0. */
    private static function workers(): int
    {
        switch (PHP_SAPI) {
            case 'fpm-fcgi':
                $main = dirname((string) php_ini_loaded_file());
                return self::poolSize(
                    array_merge(...array_map(fn($pattern) => glob($pattern) ?: [], ["$main/pool.d/*.conf", "$main/php-fpm.d/*.conf", PHP_SYSCONFDIR . '/php-fpm.d/*.conf'])),
                    self::pool()
                );
            case 'litespeed':
                return (int) (getenv('PHP_LSAPI_CHILDREN') ?: getenv('LSAPI_CHILDREN'));
            case 'cgi-fcgi':
                return (int) getenv('PHP_FCGI_CHILDREN');
            case 'cli-server':
                return (int) (getenv('PHP_CLI_SERVER_WORKERS') ?: 1);
            default:
                return 0;
        }
    }

    /** Returns the name of the pool of PHP-FPM that this process belongs to; '' for none. */
    private static function pool(): string
    {
        $status = function_exists('fpm_get_status') ? fpm_get_status() : false;
        return is_array($status) ? (string) ($status['pool'] ?? '') : '';
    }

    /** Returns how many processes a pool of PHP-FPM has at most by some files of its configuration; 0 if none can be read that says so. */
    public static function poolSize(array $files, string $pool): int
    {
        $size = 0;
        foreach ($files as $file) {
            $sections = is_readable($file) ? parse_ini_file($file, true, INI_SCANNER_RAW) : false;
            $size = (int) ($sections[$pool]['pm.max_children'] ?? $size);
        }
        return $size;
    }
}

/**
 * Sends requests to the API on to the server, for sites whose web server cannot be configured to. An answer is sent to the client
 * once it is complete, so that nobody takes a part for the whole.
 */
class BooksideForward
{
    private const API = '/wp-json/latepoint-api/v1';
    private const CONNECT = 2; // seconds
    private const GRACE = 1; // seconds beyond the server's own limit
    private const SLOW = 1024; // bytes a second of a body; a server that sends less ...
    private const SLOW_FOR = 5; // ... for so many seconds has timed out
    private const RETRY = 5; // seconds that clients are asked to wait
    private const LONG = 8000; // bytes of an address that may be too long for the server

    /** Header of forwarded requests. One that comes back is not forwarded again. */
    private const MARK = 'X-Bookside-Forwarded';

    /** Header in which the server tells what BooksideGate::told returns. */
    private const TELLING = 'x-bookside-forwarding';

    /** Headers that belong to one connection, or that the client must not set. */
    private const DROPPED = [
        'connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer',
        'transfer-encoding', 'upgrade', 'cookie', 'content-length', 'expect', 'forwarded', 'x-forwarded-for',
        'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-port', 'x-real-ip',
    ];

    /** Parts of a path that lead out of the API. */
    private const DOTS = '~(?:/|%2f|%5c|\\\\)(?:\.|%2e){1,2}(?:/|%2f|%5c|\\\\|$)~i';

    /** What needs a key: methods by path, with * for a part of it. The GET of a list, which has an error of its own, is called list. */
    private const ROUTES = [
        '/status' => ['GET'],
        '/bookings' => ['list', 'POST'],
        '/bookings/bulk' => ['POST'],
        '/bookings/*' => ['GET', 'PUT', 'DELETE'],
        '/holds' => ['POST'],
        '/holds/*' => ['GET', 'DELETE'],
        '/customers' => ['list', 'POST'],
        '/customers/*' => ['GET', 'PUT', 'DELETE'],
        '/agents' => ['list'],
        '/agents/*' => ['GET'],
        '/agents/*/calendar.ics' => ['GET'],
        '/services' => ['list', 'POST'],
        '/services/categories' => ['list'],
        '/services/*' => ['GET', 'PUT'],
        '/locations' => ['list'],
        '/locations/*/calendar.ics' => ['GET'],
        '/availability' => ['GET'],
        '/payments' => ['list', 'POST'],
        '/payments/*' => ['GET', 'PUT', 'DELETE'],
        '/orders' => ['list', 'POST'],
        '/orders/*' => ['GET', 'PUT'],
        '/orders/*/invoices' => ['list'],
        '/orders/*/invoices/*' => ['GET', 'PUT'],
        '/orders/*/transactions' => ['list'],
        '/orders/*/transactions/*' => ['GET'],
        '/changes' => ['list'],
        '/coupons' => ['list', 'POST'],
        '/coupons/*' => ['GET', 'PUT', 'DELETE'],
        '/webhooks' => ['list', 'POST'],
        '/webhooks/*' => ['GET', 'PUT', 'DELETE'],
        '/webhooks/*/deliveries' => ['list'],
        '/webhooks/*/test' => ['POST'],
        '/webhooks/*/rotate' => ['POST'],
        '/webhooks/*/replay' => ['POST'],
    ];

    /** @var int The status that arrived; 0 for none yet. */
    private static int $status = 0;

    /** @var string[] The lines of the header that arrived. */
    private static array $lines = [];

    /** @var bool Whether all of the header arrived. */
    private static bool $headed = false;

    /** @var string What the server told about itself. */
    private static string $telling = '';

    /** @var BooksideGate|null What it has locked lasts as long as it is kept here. */
    private static ?BooksideGate $gate = null;

    /** Answers a request to the API by what the server answers. Returns if it is another request, or nobody answers. */
    public static function run(): void
    {
        $base = bookside_companion_settings()['forward'];
        if ($base === '' || PHP_SAPI === 'cli' || wp_installing() || isset($_SERVER['HTTP_X_BOOKSIDE_FORWARDED'])) {
            return;
        }
        [$path, $parameters] = self::target(
            (string) ($_SERVER['REQUEST_URI'] ?? ''), // phpcs:ignore -- sent on as it is
            (string) ($_SERVER['QUERY_STRING'] ?? '') // phpcs:ignore
        );
        if ($path === '') {
            return;
        }
        if (!function_exists('curl_init')) {
            bookside_companion_failed('forward', __('PHP lacks its extension curl.', 'bookside'));
            return;
        }
        self::$gate = BooksideGate::before($base);
        if (self::$gate === null) {
            /* translators: %s: a path. */
            bookside_companion_failed('forward', sprintf(__('PHP cannot keep files in %s. WP_TEMP_DIR in wp-config.php can name another directory.', 'bookside'), BooksideGate::folder()));
            self::unavailable('Requests to the API cannot be forwarded.');
        }
        self::requireKey($path, $parameters, self::$gate->told());
        $refusal = self::$gate->enter();
        if ($refusal !== '') {
            self::unavailable($refusal);
        }
        self::send($base . $path . ($parameters === [] ? '' : '?' . implode('&', $parameters)));
    }

    /**
     * Returns the path and the parameters for the server, as they were sent; no path for requests that are not for the API.
     *
     * @return array{0:string,1:string[]}
     */
    private static function target(string $uri, string $query): array
    {
        $path = explode('?', $uri, 2)[0];
        $at = strpos($path, self::API);
        $parameters = $query === '' ? [] : explode('&', $query);
        if ($at !== false) {
            $path = substr($path, $at);
        } else {
            $path = '';
            foreach ($parameters as $i => $parameter) {
                if (strncmp($parameter, 'rest_route=', 11) === 0) {
                    $path = '/wp-json' . str_replace('%2F', '/', rawurlencode(urldecode(substr($parameter, 11))));
                    unset($parameters[$i]);
                }
            }
        }
        if (($path !== self::API && strncmp($path, self::API . '/', strlen(self::API) + 1) !== 0) || preg_match(self::DOTS, $path)) {
            return ['', []];
        }
        // A request that waits for changes would keep a process of PHP from all others.
        $parameters = array_filter($parameters, static function (string $parameter): bool {
            return !preg_match('/^wait(=|$)/i', urldecode($parameter));
        });
        return [$path, $parameters];
    }

    /**
     * Refuses a request that has no key in any form, as the server would. Whatever else is wrong, and what PHP cannot know, is for
     * the server to say.
     *
     * @param string[] $parameters
     * @param array{timeout:float,key:?string,cors:?bool} $told
     */
    private static function requireKey(string $path, array $parameters, array $told): void
    {
        $headers = array_change_key_case(self::received());
        $method = self::method();
        $overridden = $method === 'POST' && (isset($headers['x-http-method-override']) || preg_grep('/^_method(=|$)/', array_map('urldecode', $parameters)));
        $operation = self::operation($method === 'HEAD' ? 'GET' : $method, (string) preg_replace('~/$~D', '', substr($path, strlen(self::API))));
        $crossOrigin = $told['cors'] !== false && isset($headers['origin']);
        $long = strlen($path) + strlen(implode('&', $parameters)) >= self::LONG;
        if ($operation === '' || $overridden || $crossOrigin || $long || self::hasKey($headers, $parameters, $told['key'])) {
            return;
        }
        $id = (string) ($headers['x-request-id'] ?? '');
        $lines = [
            'Cache-Control: no-store',
            'X-Content-Type-Options: nosniff',
            'WWW-Authenticate: Bearer realm="bookside", ApiKey realm="bookside", header="X-API-Key"',
            'X-Request-Id: ' . (preg_match('/^[A-Za-z0-9._-]{1,128}$/D', $id) ? $id : strtoupper(bin2hex(random_bytes(13)))),
            sprintf('Server-Timing: db;dur=0, wait;dur=0, total;dur=%.3F', 1000 * (microtime(true) - (float) ($_SERVER['REQUEST_TIME_FLOAT'] ?? 0))),
        ];
        if ($told['cors']) {
            $lines[] = 'Vary: Origin';
        }
        self::answer(401, $lines, $operation === 'list'
            ? ['code' => 'rest_forbidden', 'message' => 'Unauthorized', 'data' => ['status' => 401]]
            : ['status' => 'error', 'error' => ['code' => 'unauthorized', 'message' => 'Invalid or missing API key']]);
    }

    /** Returns what ROUTES calls a request; '' if it is not there. */
    private static function operation(string $method, string $path): string
    {
        foreach (self::ROUTES as $route => $methods) {
            $pattern = '~^' . str_replace('\*', '[^/]+', preg_quote($route, '~')) . '$~D';
            $found = array_intersect($method === 'GET' ? ['GET', 'list'] : [$method], $methods);
            if ($found && preg_match($pattern, $path)) {
                return reset($found);
            }
        }
        return '';
    }

    /**
     * Reports whether a request may have a key.
     *
     * @param array<string,string> $headers By names in lower case.
     * @param string[] $parameters
     * @param string|null $name Of the parameter for keys; null if it is not known, so that any may be.
     */
    private static function hasKey(array $headers, array $parameters, ?string $name): bool
    {
        if (trim((string) ($headers['x-api-key'] ?? '')) !== '' || preg_match('/^Bearer\s+\S/i', self::authorization($headers))) {
            return true;
        }
        foreach ($parameters as $parameter) {
            [$of, $value] = array_map('urldecode', explode('=', $parameter, 2) + [1 => '']);
            if (trim($value) !== '' && ($name === null || ($of === $name && $name !== '') || $of === 'api_key')) { // always that of calendars
                return true;
            }
        }
        return false;
    }

    private static function method(): string
    {
        return strtoupper((string) ($_SERVER['REQUEST_METHOD'] ?? 'GET')); // phpcs:ignore
    }

    private static function send(string $url): void
    {
        $request = curl_init($url);
        $answer = fopen('php://temp', 'w+b');
        $method = self::method();
        $body = self::body($method);
        $headers = self::headers(is_array($body));
        curl_setopt_array($request, [
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_NOBODY => $method === 'HEAD',
            CURLOPT_HTTPHEADER => $headers,
            CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_1_1,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_PATH_AS_IS => true,
            CURLOPT_CONNECTTIMEOUT => self::CONNECT,
            CURLOPT_TIMEOUT_MS => (int) (1000 * (self::$gate->told()['timeout'] + self::GRACE)),
            CURLOPT_NOSIGNAL => true,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_PROXY => '',
            CURLOPT_HEADERFUNCTION => [self::class, 'header'],
            CURLOPT_WRITEFUNCTION => static function ($request, string $part) use ($answer): int {
                return (int) fwrite($answer, $part);
            },
        ]);
        if ($body !== '' && $body !== []) {
            curl_setopt($request, CURLOPT_POSTFIELDS, $body);
        }
        $whole = curl_exec($request) && self::$headed; // curl takes a part of a header for the whole
        $late = curl_errno($request) === CURLE_OPERATION_TIMEDOUT;
        if ($whole) {
            self::$gate->answered(self::$telling);
        } elseif ($late) {
            self::$gate->timedOut();
        }
        self::$gate->leave(); // the client may be slow
        if ($whole) {
            self::pass($answer, $method);
        }
        $sent = curl_getinfo($request, CURLINFO_PRETRANSFER_TIME) > 0;
        bookside_companion_failed('forward', curl_error($request) ?: 'The answer broke off.');
        if ($sent) {
            self::fail($late ? 504 : 502);
        } elseif ($late) {
            self::unavailable('The server of the API does not answer at the moment.');
        }
    }

    /**
     * Sends the answer of the server on.
     *
     * @param resource $answer Its body.
     */
    private static function pass($answer, string $method): void
    {
        self::begin(self::$status);
        foreach (self::$lines as $line) {
            header($line, false);
        }
        if ($method !== 'HEAD' && !in_array(self::$status, [204, 304], true)) {
            header('Content-Length: ' . ftell($answer)); // what came in chunks has none
        }
        http_response_code(self::$status); // PHP changes it for some headers
        rewind($answer);
        fpassthru($answer);
        exit;
    }

    /** Answers that the server did not. It may have acted: WordPress must not act as well, nor say that there is no such record. */
    private static function fail(int $status): void
    {
        $message = 'The server of the API did not answer. It may have done what was asked.';
        self::answer($status, ['Cache-Control: no-store', 'X-Content-Type-Options: nosniff'], ['code' => 'bookside_no_answer', 'message' => $message, 'data' => ['status' => $status]]);
    }

    /** Answers that the server was not asked. */
    private static function unavailable(string $message): void
    {
        $data = ['status' => 503] + (in_array(self::method(), ['POST', 'PUT', 'DELETE'], true) ? ['written' => false] : []);
        self::answer(
            503,
            ['Cache-Control: no-store', 'X-Content-Type-Options: nosniff', 'Retry-After: ' . self::RETRY],
            ['code' => 'platform_not_available', 'message' => $message, 'data' => $data]
        );
    }

    /**
     * Answers in place of the server.
     *
     * @param string[] $lines
     */
    private static function answer(int $status, array $lines, array $content): void
    {
        $body = (string) json_encode($content); // phpcs:ignore -- as the server writes it
        self::begin($status);
        foreach (array_merge($lines, ['Content-Type: application/json; charset=UTF-8', 'Content-Length: ' . strlen($body)]) as $line) {
            header($line);
        }
        http_response_code($status); // PHP changes it for some headers
        echo $body; // phpcs:ignore
        exit;
    }

    /** Begins an answer: nothing that PHP or another plugin had in mind for the answer gets into it. */
    private static function begin(int $status): void
    {
        ini_set('zlib.output_compression', '0'); // phpcs:ignore -- the body is sent as it is
        ini_set('default_mimetype', ''); // phpcs:ignore -- so is the header
        while (ob_get_level() > 0 && ob_end_clean()) {
            continue;
        }
        header_remove();
        http_response_code($status);
    }

    /** Takes a line of the answer's header. */
    public static function header($request, string $line): int
    {
        $text = rtrim($line, "\r\n");
        if (preg_match('~^HTTP/[\d.]+\s+(\d{3})~', $text, $status)) {
            self::$status = (int) $status[1] >= 200 ? (int) $status[1] : 0;
        } elseif (self::$status !== 0 && $text === '') {
            self::$headed = true;
            curl_setopt($request, CURLOPT_LOW_SPEED_LIMIT, self::SLOW); // not before: the server may need its time
            curl_setopt($request, CURLOPT_LOW_SPEED_TIME, self::SLOW_FOR);
        } elseif (self::$status !== 0 && strpos($text, ':') !== false) {
            [$name, $value] = explode(':', $text, 2);
            if (strtolower($name) === self::TELLING) {
                self::$telling = trim($value);
            } elseif (!in_array(strtolower(trim($name)), ['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'trailer'], true)) {
                self::$lines[] = $text;
            }
        }
        return strlen($line);
    }

    /** @return string[] The header lines for the server. */
    private static function headers(bool $multipart): array
    {
        $lines = ['Expect:', 'Accept:'];
        $seen = [];
        foreach (self::received() as $name => $value) {
            $lower = strtolower((string) $name);
            if (in_array($lower, self::DROPPED, true) || ($multipart && $lower === 'content-type')) {
                continue;
            }
            if ($lower === 'accept' && stripos((string) $value, 'text/event-stream') !== false) {
                $value = 'application/json'; // a stream would keep a process of PHP for as long as it lasts
            }
            $seen[$lower] = true;
            $lines[] = "$name: $value";
        }
        if (isset($seen['accept'])) {
            unset($lines[1]);
        }
        if (!$multipart && !isset($seen['content-type'])) {
            $lines[] = 'Content-Type:';
        }
        if (!isset($seen['authorization']) && self::authorization([]) !== '') {
            $lines[] = 'Authorization: ' . self::authorization([]);
        }
        $lines[] = 'X-Forwarded-For: ' . ($_SERVER['REMOTE_ADDR'] ?? ''); // phpcs:ignore
        $lines[] = self::MARK . ': 1';
        $lines[] = 'X-Forwarded-Proto: ' . (is_ssl() ? 'https' : 'http');
        return array_values($lines);
    }

    /**
     * Returns the header Authorization; '' for none.
     *
     * @param array<string,string> $headers By names in lower case.
     */
    private static function authorization(array $headers): string
    {
        if (isset($headers['authorization'])) {
            return (string) $headers['authorization'];
        }
        if (isset($_SERVER['PHP_AUTH_USER'])) {
            return 'Basic ' . base64_encode($_SERVER['PHP_AUTH_USER'] . ':' . ($_SERVER['PHP_AUTH_PW'] ?? '')); // phpcs:ignore
        }
        return (string) ($_SERVER['REDIRECT_HTTP_AUTHORIZATION'] ?? ''); // phpcs:ignore -- CGI hides it
    }

    /** @return array<string,string> The header that the client sent. */
    private static function received(): array
    {
        if (function_exists('getallheaders')) {
            return getallheaders() ?: [];
        }
        $headers = [];
        foreach ($_SERVER as $key => $value) {
            if (strncmp($key, 'HTTP_', 5) === 0) {
                $headers[str_replace('_', '-', substr($key, 5))] = $value;
            } elseif ($key === 'CONTENT_TYPE') {
                $headers['Content-Type'] = $value;
            }
        }
        return $headers;
    }

    /**
     * Returns the body as it came; of a multipart body, which PHP has taken apart, its parts.
     *
     * @return string|array<string,mixed>
     */
    private static function body(string $method)
    {
        if (stripos((string) ($_SERVER['CONTENT_TYPE'] ?? ''), 'multipart/form-data') !== 0 || $method !== 'POST') { // phpcs:ignore
            return (string) file_get_contents('php://input');
        }
        $parts = [];
        self::flatten($_POST, '', $parts); // phpcs:ignore -- not slashed yet, see wp_magic_quotes
        foreach ($_FILES as $name => $file) { // phpcs:ignore
            if (is_string($file['tmp_name']) && is_uploaded_file($file['tmp_name'])) {
                $parts[$name] = new CURLFile($file['tmp_name'], $file['type'], $file['name']);
            }
        }
        return $parts;
    }

    private static function flatten(array $values, string $prefix, array &$parts): void
    {
        foreach ($values as $key => $value) {
            $name = $prefix === '' ? (string) $key : $prefix . '[' . $key . ']';
            if (is_array($value)) {
                self::flatten($value, $name, $parts);
            } else {
                $parts[$name] = (string) $value;
            }
        }
    }
}

/**
 * Drops users from a persistent object cache when the journal tells that the API has changed a customer: the server writes to
 * the database, and a password reset must not go to an address that the user has no more.
 */
class BooksideUsers
{
    private const GROUP = 'bookside';
    private const PATIENCE = 10; // seconds between looks, while nobody sends anything
    private const MOST = 500; // changes of one look

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
            $last < $seen['number'] ? 0 : $seen['number'], // a journal that was emptied begins again
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

/**
 * Says on the page of the plugins that this file is at work although the plugin Bookside, which has the pages, is not active, and
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

    /** Deletes this file, and what nobody would run then. */
    private static function remove(): bool
    {
        if (!@unlink(__FILE__)) { // phpcs:ignore -- the failure is shown
            return false;
        }
        BooksideJobs::unschedule();
        return true;
    }

    private static function show(bool $failed): void
    {
        echo '<div class="notice notice-warning"><p>';
        echo esc_html__(
            'Bookside is not active, but its must-use plugin is at work: it keeps two customers out of one slot and enters changes into the journal, and runs jobs and forwards requests as the settings say. Activate Bookside to see its pages.',
            'bookside'
        );
        echo '</p>';
        if ($failed || !self::removable()) {
            /* translators: %s: a path. */
            printf('<p>%s</p>', esc_html(sprintf(__('To remove the must-use plugin, delete %s on the server, or run "bookside companion remove" there.', 'bookside'), __FILE__)));
        } else {
            echo '<form method="post"><p>';
            wp_nonce_field(self::ACTION);
            printf('<button type="submit" class="button" name="%s" value="1">%s</button></p></form>', esc_attr(self::ACTION), esc_html__('Remove the must-use plugin', 'bookside'));
        }
        echo '</div>';
    }
}

BooksideForward::run();
add_action('init', 'bookside_companion_seen');
(static function (): void {
    $slots = new BooksideSlots();
    $slots->register();
    (new BooksideJournal($slots))->register();
    BooksideForms::register();
    BooksideJobs::register();
    BooksideUsers::register();
    BooksideAlone::register();
})();
