<?php

defined('ABSPATH') || exit;

/**
 * Rooms and devices of Pro Features. A booking takes a unit of each asset that is connected to its service, and to its agent or
 * to no agent. The rules are those of adapter/availability/assets.go in Bookside.
 *
 * Pro looks at the rows of bookings alone, and where LatePoint looks itself. This class also looks at what is kept, at the other
 * bookings of a cart, and where staff, abilities and programs book. Pro stores what a booking takes after the booking itself, and
 * anew with each change: meanwhile nobody else may look.
 */
class BooksideAssets
{
    private const SETTING = 'enable_assets_functionality';
    private const ADD_ON = 'latepoint-pro-features';

    private BooksideLock $lock;

    private BooksideHolds $holds;

    /** @var array<int,array<int,array{quantity:int,active:bool,agents:int[]}>>|null Assets by service and id; null before they are read. */
    private ?array $assets = null;

    /** @var bool Whether the lock was taken for what Pro stores. */
    private bool $storing = false;

    public function __construct(BooksideLock $lock, BooksideHolds $holds)
    {
        $this->lock = $lock;
        $this->holds = $holds;
    }

    public function register(): void
    {
        foreach (['latepoint_booking_created', 'latepoint_booking_updated'] as $action) { // Pro's listeners have the priority 9
            add_action($action, [$this, 'beforeStored'], 8);
            add_action($action, [$this, 'afterStored'], 10);
        }
    }

    /**
     * Takes the lock before Pro deletes what a booking takes and inserts it again.
     *
     * @param OsBookingModel $booking
     */
    public function beforeStored($booking): void
    {
        if ($this->lock->taken()) {
            return;
        }
        try {
            $ids = $this->ids((int) $booking->service_id, [(int) $booking->agent_id]);
            $this->storing = $ids !== [] && $this->lock->take([BooksideLock::ASSET => $ids]);
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
        }
    }

    public function afterStored(): void
    {
        if ($this->storing) {
            $this->storing = false;
            $this->lock->release();
        }
    }

    /**
     * Stores what a booking takes as Pro will, while the lock of its slot is taken.
     *
     * @param OsBookingModel $booking
     */
    public function store($booking): void
    {
        global $wpdb;
        $table = $wpdb->prefix . 'latepoint_bookings_assets';
        if (!$this->used()) {
            return;
        }
        $taken = array_keys($this->takenWith((int) $booking->service_id, [(int) $booking->agent_id], false));
        $stored = array_map('intval', $wpdb->get_col($wpdb->prepare("SELECT asset_id FROM `$table` WHERE booking_id = %d", $booking->id)));
        sort($stored);
        if ($stored === $taken) {
            return;
        }
        $now = gmdate('Y-m-d H:i:s');
        $wpdb->delete($table, ['booking_id' => (int) $booking->id]);
        foreach ($taken as $id) {
            $wpdb->insert($table, ['booking_id' => (int) $booking->id, 'asset_id' => $id, 'created_at' => $now, 'updated_at' => $now]);
        }
    }

    /**
     * Returns the active assets that bookings of a service take with any of some agents.
     *
     * @param int[] $agents
     * @return int[]
     */
    public function ids(int $service, array $agents): array
    {
        return array_keys($this->takenWith($service, $agents, true));
    }

    /**
     * Reports whether no unit is left of an asset that a booking would take.
     *
     * @param OsBookingModel $booking
     * @param int $hold Its own hold, which takes nothing; 0 for none.
     */
    public function full($booking, int $hold): bool
    {
        $service = (int) $booking->service_id;
        $agent = (int) $booking->agent_id;
        $ids = $this->ids($service, [$agent]);
        $day = (string) $booking->start_date;
        $start = (int) $booking->start_time;
        $uses = $ids === [] ? [] : $this->uses($day, $day, $ids, empty($booking->id) ? [] : [(int) $booking->id], $hold, []);
        return $this->overlap($service, $agent, $uses[$day] ?? [], $start, $start + (int) $booking->get_total_duration());
    }

    /**
     * Closes the slots of resources for which no unit is left.
     *
     * @param array<string,\LatePoint\Misc\BookingResource[]> $days By date.
     * @param int[] $except The bookings that take nothing.
     * @param int $hold The hold that takes nothing; 0 for none.
     * @param OsBookingModel[] $cart Bookings that are not saved yet.
     */
    public function close(array $days, int $duration, array $except, int $hold, array $cart): void
    {
        $ids = [];
        foreach ($days as $resources) {
            foreach ($resources as $resource) {
                $ids = array_merge($ids, $this->ids((int) $resource->service_id, [(int) $resource->agent_id]));
            }
        }
        if ($ids === []) {
            return;
        }
        $uses = $this->uses((string) min(array_keys($days)), (string) max(array_keys($days)), array_unique($ids), $except, $hold, $cart);
        foreach ($days as $day => $resources) {
            foreach ($resources as $resource) {
                foreach ($resource->slots as $slot) {
                    $start = (int) $slot->start_time;
                    if ($this->overlap((int) $resource->service_id, (int) $resource->agent_id, $uses[$day] ?? [], $start, $start + $duration)) {
                        $slot->booked_capacity = max((int) $slot->max_capacity, (int) $slot->min_capacity_to_be_blocked);
                    }
                }
            }
        }
    }

    /**
     * Reports whether no unit is left of an asset of a service and agent, from one minute to another.
     *
     * @param array<int,array{int,int,int}> $uses Those of the day.
     */
    private function overlap(int $service, int $agent, array $uses, int $start, int $end): bool
    {
        foreach ($this->takenWith($service, [$agent], true) as $id => $quantity) {
            $overlapping = array_filter($uses, static function (array $use) use ($id, $start, $end): bool {
                return $use[0] === $id && $use[1] < $end && $use[2] > $start;
            });
            if (count($overlapping) >= max(1, $quantity)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns what takes assets on some days: an asset, and from which minute to which one.
     *
     * @param int[] $ids
     * @param int[] $except
     * @return array<string,array<int,array{int,int,int}>> By date.
     */
    private function uses(string $from, string $to, array $ids, array $except, int $hold, array $cart): array
    {
        global $wpdb;
        $statuses = array_filter(array_map('strval', (array) OsBookingHelper::get_timeslot_blocking_statuses()));
        $uses = [];
        if ($statuses !== []) {
            $bookings = $wpdb->prefix . 'latepoint_bookings';
            $taken = $wpdb->prefix . 'latepoint_bookings_assets';
            $services = $wpdb->prefix . 'latepoint_services';
            $found = $wpdb->get_results(
                $wpdb->prepare(
                    'SELECT DISTINCT x.asset_id, b.id, b.start_date, b.start_time - COALESCE(b.buffer_before, 0) AS begins, '
                    . BooksideSlots::END . ' AS ends, COALESCE(b.buffer_after, 0) AS buffer_after '
                    . "FROM `$bookings` b JOIN `$taken` x ON x.booking_id = b.id LEFT JOIN `$services` s ON s.id = b.service_id "
                    . 'WHERE b.start_date BETWEEN %s AND %s AND b.status IN (' . implode(', ', array_fill(0, count($statuses), '%s')) . ') '
                    . 'AND x.asset_id IN (' . implode(', ', $ids) . ') AND b.id NOT IN (' . implode(', ', array_map('intval', $except ?: [0])) . ')',
                    array_merge([$from, $to], $statuses)
                ),
                ARRAY_A
            );
            foreach ($found ?: [] as $use) {
                $end = (int) $use['ends'];
                $uses[$use['start_date']][] = [(int) $use['asset_id'], (int) $use['begins'], ($end > 1440 ? $end - 1440 : $end) + (int) $use['buffer_after']];
            }
        }
        foreach ($cart as $booking) {
            $end = (int) $booking->start_time + (int) $booking->get_total_duration();
            $this->add($uses, ['end_time' => $end > 1440 ? $end - 1440 : $end] + get_object_vars($booking));
        }
        foreach ($this->holds->rows($from, $to, $hold) as $row) {
            $this->add($uses, $row);
        }
        return $uses;
    }

    /** Adds what a booking would take that has no row yet. */
    private function add(array &$uses, array $booking): void
    {
        foreach ($this->ids((int) $booking['service_id'], [(int) $booking['agent_id']]) as $id) {
            $uses[$booking['start_date']][] = [
                $id,
                (int) $booking['start_time'] - (int) $booking['buffer_before'],
                (int) $booking['end_time'] + (int) $booking['buffer_after'],
            ];
        }
    }

    /**
     * Returns the assets that bookings of a service take with any of some agents.
     *
     * @param int[] $agents
     * @return array<int,int> Quantities by id.
     */
    private function takenWith(int $service, array $agents, bool $active): array
    {
        if ($this->assets === null) {
            $this->assets = $this->used() ? $this->read() : [];
        }
        $taken = [];
        foreach ($this->assets[$service] ?? [] as $id => $asset) {
            $applies = $asset['agents'] === [] || array_intersect($asset['agents'], array_map('intval', $agents)) !== [];
            if ($applies && ($asset['active'] || !$active)) {
                $taken[$id] = $asset['quantity'];
            }
        }
        return $taken;
    }

    /** Reads the assets of all services. There may be no tables. */
    private function read(): array
    {
        global $wpdb;
        $prefix = $wpdb->prefix . 'latepoint_';
        $quiet = $wpdb->suppress_errors();
        $rows = $wpdb->get_results(
            "SELECT x.service_id, a.id, a.quantity, a.status, g.agent_id FROM `{$prefix}services_assets` x "
            . "JOIN `{$prefix}assets` a ON a.id = x.asset_id LEFT JOIN `{$prefix}agents_assets` g ON g.asset_id = a.id ORDER BY a.id"
        );
        $wpdb->suppress_errors($quiet);
        $assets = [];
        foreach ($rows ?: [] as $row) {
            $asset = &$assets[(int) $row->service_id][(int) $row->id];
            $asset['quantity'] = (int) $row->quantity;
            $asset['active'] = $row->status === 'active';
            $asset['agents'] = $asset['agents'] ?? [];
            if ($row->agent_id !== null) {
                $asset['agents'][] = (int) $row->agent_id;
            }
            unset($asset);
        }
        return $assets;
    }

    /** Reports whether Pro Features is active, and its assets are switched on. */
    private function used(): bool
    {
        if (!OsSettingsHelper::is_on(self::SETTING)) {
            return false;
        }
        $files = array_merge((array) get_option('active_plugins', []), array_keys((array) get_site_option('active_sitewide_plugins', [])));
        $addOns = method_exists('OsSettingsHelper', 'get_active_addons') ? (array) OsSettingsHelper::get_active_addons() : [];
        return in_array(self::ADD_ON . '.php', array_map('basename', $files), true) || in_array(self::ADD_ON, $addOns, true);
    }
}
