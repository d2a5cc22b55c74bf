<?php

defined('ABSPATH') || exit;

/**
 * Rows of Bookside's table of holds, which reserve slots for customers who have yet to book.
 *
 * A booking that was checked under the lock but is saved later has its own hold, so that nobody waits for the lock
 * while a visitor pays, or while a mail is sent. The rules are those of adapter/bookings/holds.go in Bookside.
 */
class BooksideHolds
{
    private const LASTS = 300; // seconds
    private const FRESH = 60; // seconds in which it is not renewed

    /** @var int The hold whose slot a booking of the server is to have: it does not stand in its own way. */
    public static int $used = 0;

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
     * Creates holds for bookings that were checked under the lock, and releases it. Without a table of holds, the bookings
     * are checked again.
     *
     * @param OsBookingModel[] $bookings
     * @return bool Whether others will respect them.
     */
    public function keep(array $bookings): bool
    {
        $kept = [];
        foreach ($bookings as $booking) {
            $error = $this->lock->execute($this->insertion($booking));
            if ($error === BooksideLock::NO_TABLE) {
                break;
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
     * Renews the holds when PHP shows that it is alive: before it queries the database or calls another server.
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

    /** Returns the holds on some days, and on the day before, except one hold. The table of holds may be missing. */
    public function rows(string $from, string $to, int $except): array
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
                . 'AND start_date BETWEEN %s - INTERVAL 1 DAY AND %s AND id NOT IN (%d, %d)',
                $from,
                $to,
                $except,
                self::$used
            ),
            ARRAY_A
        );
        $known[$table] = $wpdb->last_error === '';
        $wpdb->suppress_errors($quiet);
        return $found ?: [];
    }

    /**
     * Returns the holds on some days but one, as columns of bookings. A hold that runs past midnight is two, because
     * LatePoint's calendar sees no booking that does.
     */
    public function on(string $from, string $to, int $except): array
    {
        $holds = [];
        foreach ($this->rows($from, $to, $except) as $hold) {
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
}
