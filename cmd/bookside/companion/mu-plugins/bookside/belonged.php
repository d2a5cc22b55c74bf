<?php

defined('ABSPATH') || exit;

/**
 * Remembers what the bookings of deleted customers, orders, payments and invoices belonged to, so that keys that saw
 * them learn of the deletion. LatePoint deletes bookings and items before the records that they are part of.
 */
class BooksideBelonged
{
    /** What is to be known of rows that are deleted, by resource: their ids, and the order or the customer of each. */
    public const COLUMNS = ['customers' => 'id', 'orders' => 'id, customer_id', 'payments' => 'id, order_id', 'invoices' => 'id, order_id'];

    private const MOST_ORDERS = 500; // per statement: beyond that, nobody learns whose the orders were

    /**
     * @var array<string,array<int,string[]>> To what the bookings of items, orders and customers belonged, by the table and by
     *      id. Each text has the ids of agent, service and location.
     */
    private array $known = [];

    /**
     * Returns what the bookings of records about to be deleted belong to, in the journal's form, by id.
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
     * Finds what the bookings of orders belong to. The JSON of an item names its booking, and has what one deleted in an
     * earlier request belonged to; the bookings of a bundle are searched among the customer's.
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
     * Returns what the bookings of items belong to, by item: the named ones, and those of customers whose orders have
     * bundles.
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
