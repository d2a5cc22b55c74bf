<?php

defined('ABSPATH') || exit;

/**
 * Asks before a form of an order or a customer in LatePoint overwrites others' changes made while it was open. Such a
 * form writes all of its fields, including unchanged ones.
 *
 * The form contains the fingerprints of the records that it was opened with. If one of them differs when the form is
 * submitted, nothing is saved, and the response says what changed and gives the form the current fingerprints, so that
 * submitting it again overwrites.
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
