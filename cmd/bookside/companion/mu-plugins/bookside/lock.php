<?php

defined('ABSPATH') || exit;

/**
 * Rows of Bookside's lock table, taken on a separate connection.
 *
 * The statement, the kinds and the rules are those of adapter/session/locks.go in Bookside: PHP and the server wait for each
 * other only if they use the same ones.
 */
class BooksideLock
{
    public const BOOKING = 1;
    public const LOCATION = 2;
    public const SERVICE = 3;
    public const AGENT = 4;
    public const ASSET = 12;

    public const NO_TABLE = 1146; // error of MySQL

    private const BUCKETS = 1024;
    private const WAIT = 8; // seconds for a row that somebody else holds
    private const CONNECT = 1.0; // seconds for a server that has no connection left
    private const ATTEMPTS = 4; // after deadlocks and missing rows

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
     * Takes additional rows. To keep the order, the rows held may be released and taken again, which undoes what was
     * executed. Before the server's first start there is no table of locks, and nothing to wait for.
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
            $this->close();
            if ($error === self::NO_TABLE) {
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
            } elseif (!in_array($error, [-1, 1213], true)) {
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
     * Runs a statement on a table of Bookside: in the lock's transaction if rows are held, otherwise in its own.
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
        // Each row separately, so that nobody holds a row that others may need while waiting for an existing one.
        $error = $this->run('ROLLBACK');
        foreach ($values as $value) {
            $error = $error ?: $this->run("INSERT IGNORE INTO `$table` (kind, id) VALUES $value");
        }
        return $error ?: -1;
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
            return __('The rows of the lock table could not be created.', 'bookside');
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
