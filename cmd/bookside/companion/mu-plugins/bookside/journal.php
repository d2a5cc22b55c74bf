<?php

defined('ABSPATH') || exit;

/**
 * Enters WordPress's changes into Bookside's journal, in the form described by adapter/journal/inbox.go in Bookside. It
 * watches the statements themselves, because LatePoint has no event for many of them.
 *
 * A statement is noted before it runs, and settled when the next one comes or the request ends. Noted changes are
 * entered at the end of the request, or after a second, in one statement. The server finds lost ones, for example
 * when PHP is killed.
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

    private const MOST_ROWS = 5000; // per statement: larger changes are left to the server
    private const MOST_ENTRIES = 200; // per INSERT
    private const PATIENCE = 1.0; // seconds until changes are entered, in a long request
    private const VALUE = "(?:\\d+|'[A-Za-z0-9_ .:@+-]*')"; // a number, or a text of letters that mean the same in every encoding and mode
    private const ASSIGNMENT = ['agent_id', 'service_id', 'location_id', 'customer_id']; // columns of bookings, and of the inbox

    private BooksideSlots $slots;

    /** @var bool Whether a statement of this class itself is running. */
    private bool $busy = false;

    /**
     * @var array|null The statement that was noted: query, kind, resource, ids, and bookings as they were before, by id.
     */
    private ?array $open = null;

    /**
     * @var array<string,array{prefix:string,resource:string,id:int,kind:string,before:?array}> Changes that are not entered yet;
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
    }

    public function register(): void
    {
        add_filter('query', [$this, 'query'], PHP_INT_MAX);
        add_action('shutdown', [$this, 'finish'], PHP_INT_MAX);
    }

    /**
     * Settles the previous statement and notes this one. Runs for every statement of every request.
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
                $this->changes = []; // earlier ones were entered when the transaction began
            } else {
                $this->enter();
            }
            return $query;
        }
        $verb = strtoupper($parts['verb']);
        $resource = self::RESOURCES[strtolower($parts['table'])];
        if ($verb === 'UPDATE' && $resource === 'bookings') {
            $query = $this->slots->statusChange($query);
            if ($query === '') {
                return '';
            }
        }
        $note = ['query' => $query, 'prefix' => $wpdb->prefix, 'resource' => $resource, 'ids' => [], 'bookings' => []];
        if ($verb === 'INSERT' || $verb === 'REPLACE') {
            $note['kind'] = 'created';
        } else {
            $note['kind'] = $verb === 'DELETE' ? 'deleted' : 'updated';
            foreach ($this->affected($query, strtolower($parts['table']), $resource === 'bookings' ? self::bookingColumns() : 'id') as $row) {
                $note['ids'][] = (int) $row[0];
                if ($resource === 'bookings') {
                    $note['bookings'][(int) $row[0]] = self::booking($row);
                }
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
            . '`?' . preg_quote($prefix, '/') . 'latepoint_(?<table>' . implode('|', array_keys(self::RESOURCES)) . ')`?[\s(])/i';
    }

    /**
     * Returns the rows that an UPDATE or DELETE of one table is about to change, by a SELECT with the same conditions. Statements
     * whose conditions are not plain comparisons are left to the server.
     *
     * @return array<int,array<int,string|null>>
     */
    private function affected(string $query, string $table, string $columns): array
    {
        global $wpdb;
        $conditions = self::conditions($query);
        if ($conditions === null || !$wpdb->dbh instanceof mysqli) {
            return [];
        }
        if ($columns === 'id' && preg_match('/^ WHERE `id` = \'?(\d+)\'?$/D', $conditions, $id)) {
            return [[$id[1]]];
        }
        // The same connection, so that a transaction sees its own rows, but not $wpdb, whose state the statement needs.
        $rows = mysqli_query($wpdb->dbh, "SELECT $columns FROM `{$wpdb->prefix}latepoint_$table`$conditions");
        return $rows instanceof mysqli_result && mysqli_num_rows($rows) <= self::MOST_ROWS ? mysqli_fetch_all($rows) : [];
    }

    /**
     * Returns the conditions of a statement, put together anew: where a text ends depends on the encoding and the mode of the connection, so
     * that nothing of the statement may become part of another. Null for conditions that are not plain comparisons; '' for none.
     *
     * Plain ones at the end of a statement, in which all quotes come in pairs, cannot be within a text.
     */
    private static function conditions(string $query): ?string
    {
        $value = self::VALUE;
        $column = '`?[a-z_]+`?';
        $one = "$column\\s*(?:(?:=|<>|!=|<=|>=|<|>)\\s*$value|IN\\s*\\(\\s*$value(?:\\s*,\\s*$value)*\\s*\\))";
        $end = "(?<order>\\s+ORDER\\s+BY\\s+$column(?:\\s+(?:ASC|DESC))?)?(?<limit>\\s+LIMIT\\s+\\d+)?\\s*;?\\s*$";
        if (!preg_match("/\\sWHERE\\s+(?<all>$one(?:\\s+AND\\s+$one)*)$end/iD", $query, $parts)) {
            return preg_match('/\bWHERE\b|\bLIMIT\b/i', $query) ? null : '';
        }
        preg_match_all("/(?<column>[a-z_]+)`?\\s*(?<comparison>=|<>|!=|<=|>=|<|>|IN\\b)\\s*\\(?(?<values>\\s*$value(?:\\s*,\\s*$value)*)/i", $parts['all'], $found, PREG_SET_ORDER);
        $conditions = [];
        foreach ($found as $condition) {
            preg_match_all("/$value/", $condition['values'], $values);
            $list = implode(', ', $values[0]);
            $conditions[] = strtoupper($condition['comparison']) === 'IN' ? "`$condition[column]` IN ($list)" : "`$condition[column]` $condition[comparison] $list";
        }
        $order = preg_match('/BY\s+`?([a-z_]+)`?(?:\s+(ASC|DESC))?/i', $parts['order'] ?? '', $by) ? " ORDER BY `$by[1]` " . strtoupper($by[2] ?? 'ASC') : '';
        $limit = preg_match('/\d+/', $parts['limit'] ?? '', $most) ? " LIMIT $most[0]" : '';
        return ' WHERE ' . implode(' AND ', $conditions) . $order . $limit;
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
                    return; // another kind of database
                }
                $first = (int) mysqli_insert_id($wpdb->dbh); // $wpdb->insert_id is reset before the next statement
                $note['ids'] = $first > 0 ? range($first, $first + min($changed, self::MOST_ROWS) - 1) : [];
                if ($changed > 1 && preg_match('/^\s*REPLACE|\sON\s+DUPLICATE\s+KEY\s/i', $note['query'])) {
                    return; // unknown which rows are new and which existed before
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
        ];
    }

    /** The columns of a booking that entries tell about. */
    private static function bookingColumns(): string
    {
        return 'id, status, ' . implode(', ', self::ASSIGNMENT);
    }

    /** Returns a row of these columns: the status, and to what the booking belongs. */
    private static function booking(array $row): array
    {
        return ['status' => (string) $row[1], 'assignment' => array_map('intval', array_slice($row, 2))];
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
            $assigned = implode(', ', self::ASSIGNMENT);
            $columns = "resource, resource_id, kind, origin, actor_id, status, at, $assigned, old_" . str_replace(', ', ', old_', $assigned);
            foreach (array_chunk($changes, self::MOST_ENTRIES) as $part) {
                $rows = [];
                foreach ($part as $change) {
                    $now = $change['resource'] === 'bookings' && $change['kind'] !== 'deleted' ? $bookings[$change['id']] ?? null : null;
                    $before = $change['before'];
                    $moved = ($now['assignment'] ?? null) !== ($before['assignment'] ?? null);
                    $rows[] = '(' . $wpdb->prepare('%s, %d, %s, ', $change['resource'], $change['id'], $change['kind'])
                        . "'site', " . ($actor > 0 ? (int) $actor : 'NULL') . ', '
                        . ($now !== null && $now['status'] !== ($before['status'] ?? null) ? $wpdb->prepare('%s', $now['status']) : 'NULL') . ', UTC_TIMESTAMP(), '
                        . self::assignment($moved ? $now : null) . ', ' . self::assignment($moved ? $before : null) . ')';
                }
                if ($wpdb->query("INSERT INTO `{$prefix}bookside_change_inbox` ($columns) VALUES " . implode(', ', $rows)) === false) {
                    $problem = (string) $wpdb->last_error;
                    // Before the server's first start there are no tables, and nobody follows changes.
                    if ($wpdb->query("SELECT 1 FROM `{$prefix}bookside_change_positions` LIMIT 0") !== false) {
                        bookside_companion_failed('journal', $problem);
                    }
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
