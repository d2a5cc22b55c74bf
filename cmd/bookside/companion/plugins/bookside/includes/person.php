<?php

/**
 * Finds a person's data in LatePoint and Bookside.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

// The number of customers with one address that are exported or erased per page.
const CUSTOMERS_AT_A_TIME = 100;

/**
 * A person: the customers with an e-mail address, and the remains of deleted ones.
 *
 * LatePoint keeps the history and the jobs of deleted records. They are found by the address in their JSON, and by the ids found that way. The holder of
 * a customer's former address gets the data that names it, but not the customer.
 */
class Person
{
    /** The kinds of records that extensions are told about. */
    private const EVENTS_OF = ['customer', 'booking', 'order', 'transaction'];

    public string $email;

    /** @var object[] The rows of the customers. */
    public array $customers = [];

    /** @var bool Whether there are more customers than these. */
    public bool $more = false;

    /** @var array<string,int[]> The ids of the customers and their records, by kind, also of those that were deleted. */
    public array $ids = ['customer' => [], 'booking' => [], 'order' => [], 'order_item' => [], 'transaction' => [], 'payment_request' => []];

    /** @var int[] Customers who had the address and have another one now. */
    public array $renamed = [];

    /** @var bool Whether the site writes to the address about its customers: then not everything that names it is about the person. */
    private bool $staff;

    /** @var string[] The addresses of the person now. */
    private array $present;

    /** @var string[] Those that the customers had before and nobody else has now. */
    private array $former = [];

    public function __construct(string $email, int $skipped = 0)
    {
        $this->email = $email;
        $found = customers_of($email, $skipped, CUSTOMERS_AT_A_TIME + 1);
        $this->customers = array_slice($found, 0, CUSTOMERS_AT_A_TIME);
        $this->more = count($found) > CUSTOMERS_AT_A_TIME;
        $this->present = self::addresses(array_merge([$email], array_map('strval', wp_list_pluck($this->customers, 'email'))));
        $this->staff = is_staff($email);
        $this->ids['customer'] = id_list(wp_list_pluck($this->customers, 'id'));
        $named = $this->named();
        $this->traceCustomers($named);
        $this->traceRecords($named);
    }

    /** @return string[] Distinct addresses in lower case. */
    private static function addresses(array $emails): array
    {
        return array_values(array_unique(array_filter(array_map(fn($email) => strtolower(trim($email)), $emails))));
    }

    /** @return Mentions[] What the history and the jobs say where they name the addresses or the customers. */
    private function named(): array
    {
        $named = [];
        foreach (['activities' => ['description'], 'process_jobs' => ['settings']] as $table => $columns) {
            foreach (rows_naming($table, $columns, $this->present) as $row) {
                $named[] = $this->mentions($table, $row);
            }
        }
        foreach (rows_where('activities', 'customer_id', $this->ids['customer']) as $row) {
            $named[] = $this->mentions('activities', $row);
        }
        return $named;
    }

    /** Finds the customers that were deleted, and the addresses that the others had. */
    private function traceCustomers(array $named): void
    {
        $before = [];
        $candidates = [];
        foreach ($named as $mentions) {
            foreach ($mentions->customers as $id => $emails) {
                if (in_array($id, $this->ids['customer'], true)) {
                    $before = array_merge($before, $emails);
                } elseif ($id > 0 && array_intersect($emails, $this->present)) {
                    $candidates[] = $id;
                }
            }
        }
        $candidates = array_values(array_unique($candidates));
        foreach (rows_where('customers', 'id', $candidates, 'id, email') as $living) {
            $candidates = array_diff($candidates, [(int) $living->id]);
            if (!in_array(strtolower(trim((string) $living->email)), $this->present, true)) {
                $this->renamed[] = (int) $living->id;
            }
        }
        $this->ids['customer'] = array_merge($this->ids['customer'], array_values($candidates));
        $this->former = array_values(array_filter(array_diff(self::addresses($before), $this->present), fn($email) => !$this->isOfOthers($email)));
    }

    /** Reports whether somebody else has an address now that the customers had before. */
    private function isOfOthers(string $email): bool
    {
        $user = get_user_by('email', $email);
        $linked = id_list(wp_list_pluck($this->customers, 'wordpress_user_id'));
        return is_staff($email) || ($user && !in_array($user->ID, $linked, true))
            || array_diff(id_list(wp_list_pluck(customers_of($email), 'id')), $this->ids['customer']);
    }

    /** Finds the records of the customers, and those that were deleted. */
    private function traceRecords(array $named): void
    {
        foreach (['booking' => 'bookings', 'order' => 'orders'] as $kind => $table) {
            $gone = [];
            foreach ($named as $mentions) {
                if ($this->whose($mentions) === 'theirs') {
                    $gone = array_merge($gone, $mentions->ids[$kind] ?? []);
                }
            }
            foreach ($named as $mentions) { // one that moved to somebody else before it was deleted
                if ($this->whose($mentions) === 'shared') {
                    $gone = array_diff($gone, $mentions->ids[$kind] ?? []);
                }
            }
            $gone = array_values(array_unique($gone));
            $gone = array_diff($gone, ids_where($table, 'id', $gone));
            $this->ids[$kind] = array_merge(ids_where($table, 'customer_id', $this->ids['customer']), array_values($gone));
        }
        $this->ids['order_item'] = ids_where('order_items', 'order_id', $this->ids['order']);
        $this->ids['transaction'] = id_list(wp_list_pluck($this->transactions(), 'id'));
        $this->ids['payment_request'] = ids_where('payment_requests', 'order_id', $this->ids['order']);
    }

    /** Reads what a row of the history or of the jobs says. */
    private function mentions(string $table, object $row): Mentions
    {
        if ($table === 'process_jobs') {
            $mentions = new Mentions((string) $row->settings);
            if (isset($this->ids[(string) $row->object_model_type])) {
                $mentions->ids[(string) $row->object_model_type][] = (int) $row->object_id;
            }
            return $mentions;
        }
        $mentions = new Mentions((string) $row->description);
        $mentions->customer((int) $row->customer_id);
        // The history of an unfinished order has the order's id as a booking id.
        $kinds = strncmp((string) $row->code, 'order_intent', 12) === 0 ? [] : ['booking', 'order', 'order_item'];
        foreach ($kinds as $kind) {
            $mentions->ids[$kind][] = (int) $row->{$kind . '_id'};
        }
        return $mentions;
    }

    /** Says whose a text is: theirs, shared with other customers, or others'. */
    private function whose(Mentions $mentions): string
    {
        $theirs = 0;
        foreach ($mentions->customers as $id => $emails) {
            $known = in_array($id, $this->ids['customer'], true) || array_intersect($emails, $this->present)
                || (in_array($id, $this->renamed, true) && $this->namedIn($mentions->text));
            $theirs += $known ? 1 : 0;
        }
        if ($mentions->customers) {
            return $theirs === 0 ? 'others' : ($theirs < count($mentions->customers) ? 'shared' : 'theirs');
        }
        foreach ($mentions->ids as $kind => $ids) {
            if (array_intersect($ids, $this->ids[$kind] ?? [])) {
                return 'theirs';
            }
        }
        return $this->namedIn($mentions->text) ? 'theirs' : 'others';
    }

    private function namedIn(string $text): bool
    {
        return !$this->staff && names_address($text, $this->present);
    }

    /**
     * Returns the entries of the history that are about the person.
     *
     * @param bool $shared Whether with those that name other customers, too.
     * @return object[]
     */
    public function activities(bool $shared): array
    {
        $rows = rows_naming('activities', ['description'], $this->present);
        foreach (['customer', 'booking', 'order', 'order_item'] as $kind) {
            $rows = array_merge($rows, rows_where('activities', $kind . '_id', $this->ids[$kind]));
        }
        return $this->ownOf('activities', $rows, $shared);
    }

    /**
     * Returns the jobs of LatePoint's processes about the person: reminders and waiting mails.
     *
     * @return object[]
     */
    public function jobs(bool $shared): array
    {
        $rows = rows_naming('process_jobs', ['settings'], $this->present);
        // A mail of the API has the id of the record, but no type.
        $rows = array_merge($rows, rows_where('process_jobs', 'object_id', array_values(array_unique(array_merge(...array_values($this->ids))))));
        return $this->ownOf('process_jobs', $rows, $shared);
    }

    /** @return object[] Those of some rows that are the person's, each once. */
    private function ownOf(string $table, array $rows, bool $shared): array
    {
        $own = [];
        foreach ($rows as $row) {
            $id = (int) $row->id;
            if (!isset($own[$id]) && in_array($this->whose($this->mentions($table, $row)), $shared ? ['theirs', 'shared'] : ['theirs'], true)) {
                $own[$id] = $row;
            }
        }
        ksort($own);
        return array_values($own);
    }

    /** @return object[] The payments of the customers and of their orders, and those without a customer or an order that name the address. */
    public function transactions(): array
    {
        $rows = array_merge(rows_where('transactions', 'customer_id', $this->ids['customer']), rows_where('transactions', 'order_id', $this->ids['order']));
        foreach ($this->staff ? [] : rows_naming('transactions', ['notes'], $this->present) as $row) {
            $of = array_merge(ids_where('customers', 'id', [(int) $row->customer_id]), ids_where('orders', 'id', [(int) $row->order_id]));
            if (!$of && names_address((string) $row->notes, $this->present)) {
                $rows[] = $row;
            }
        }
        return array_values(array_column($rows, null, 'id'));
    }

    /** @return object[] The rows of a table of unfinished orders or payments. */
    public function intents(string $table): array
    {
        $rows = rows_where($table, 'customer_id', $this->ids['customer']);
        $texts = array_intersect(['payment_data', 'other_data', 'cart_items_data'], columns_of(platform_table($table)));
        foreach ($this->staff ? [] : rows_naming($table, $texts, $this->present) as $row) {
            $text = implode("\n", array_map(fn($column) => (new Mentions((string) $row->$column))->text, $texts));
            if (!ids_where('customers', 'id', [(int) $row->customer_id]) && names_address($text, $this->present)) {
                $rows[] = $row;
            }
        }
        return array_values(array_column($rows, null, 'id'));
    }

    /** @return object[] The invoices that were issued to the person, whoever has the order now, and those of the person's orders that name nobody else. */
    public function invoices(): array
    {
        $rows = array_filter(rows_where('order_invoices', 'order_id', $this->ids['order']), fn($row) => !$this->isIssuedToOthers($row));
        $columns = array_intersect(['data'], columns_of(platform_table('order_invoices')));
        $emails = array_merge($this->present, $this->former);
        foreach ($this->staff ? [] : rows_naming('order_invoices', $columns, $emails) as $row) {
            if (names_address((new Mentions((string) $row->data))->text, $emails)) {
                $rows[] = $row;
            }
        }
        return array_values(array_column($rows, null, 'id'));
    }

    /** Reports whether an invoice names the address of another customer, who had the order before. */
    private function isIssuedToOthers(object $invoice): bool
    {
        $data = json_decode((string) ($invoice->data ?? ''), true);
        $to = is_array($data) && is_string($data['to'] ?? null) ? html_entity_decode($data['to'], ENT_QUOTES) : '';
        preg_match_all('/[^\s<>,;:()"]+@[^\s<>,;:()"]+/u', $to, $found);
        $others = array_diff(self::addresses($found[0]), $this->present, $this->former);
        return !names_address($to, array_merge($this->present, $this->former)) && array_filter($others, fn($email) => $this->isOfOthers($email));
    }

    /** @return object[] The codes that were sent to the addresses and telephone numbers for logging in. */
    public function loginCodes(): array
    {
        global $wpdb;
        $table = platform_table('customer_otp_codes');
        $contacts = array_filter(array_merge($this->present, $this->former, array_map('strval', wp_list_pluck($this->customers, 'phone'))), 'strlen');
        return has_table($table) ? select_in("SELECT * FROM $table WHERE contact_value", '%s', array_values($contacts)) : [];
    }

    /** @return object[] The customers of the person's bookings as keys with limits described them. */
    public function described(): array
    {
        $table = own_table('booking_customers');
        if (!has_table($table)) {
            return [];
        }
        $of = select_in("SELECT * FROM $table WHERE id", '%d', $this->ids['booking']);
        $named = select_in("SELECT * FROM $table WHERE email", '%s', array_values(array_merge($this->present, $this->former)));
        return array_values(array_column(array_merge($of, $named), null, 'id'));
    }

    /** @return object[] The responses about the person that the sidecar keeps for a day, in case a request is repeated. */
    public function responses(): array
    {
        global $wpdb;
        $table = own_table('idempotency');
        if (!has_table($table)) {
            return [];
        }
        $answer = 'CONVERT(answer USING utf8mb4)';
        $emails = array_merge($this->present, $this->former);
        [$condition, $parameters] = having_address([$answer], $emails);
        foreach ($this->ids['customer'] as $id) {
            foreach (['"customer_id":"%d"', '"customer_id":%d', '"customer":{"id":"%d"', '"customer":{"id":%d'] as $name) {
                $condition .= " OR $answer LIKE %s";
                $parameters[] = '%' . $wpdb->esc_like(sprintf($name, $id)) . '%';
            }
        }
        return array_values(array_filter(
            $wpdb->get_results($wpdb->prepare(
                "SELECT id, status, $answer AS answer, created_at FROM $table WHERE status NOT IN (0, 410) AND ($condition) ORDER BY id",
                ...$parameters
            )),
            function ($response) use ($emails) {
                $mentions = new Mentions($response->answer);
                $named = !$mentions->customers && !$this->staff && names_address($mentions->text, $emails);
                return $named || $this->whose($mentions) !== 'others';
            }
        ));
    }

    /** @return object[] What receivers of webhooks answered about the person. */
    public function webhookAnswers(): array
    {
        global $wpdb;
        $table = own_table('webhook_tries');
        if (!has_table($table)) {
            return [];
        }
        $emails = array_merge($this->present, $this->former);
        [$condition, $parameters] = having_address(['answer'], $emails);
        return array_values(array_filter(
            $wpdb->get_results($wpdb->prepare("SELECT id, at, answer FROM $table WHERE $condition ORDER BY id", ...$parameters)),
            fn($try) => names_address((string) $try->answer, $emails)
        ));
    }

    /** @return object[] The events of the person's records, and those whose error names the addresses, if an extension failed. */
    public function failedEvents(): array
    {
        global $wpdb;
        $table = own_table('events');
        if (!has_table($table)) {
            return [];
        }
        $rows = [];
        foreach (self::EVENTS_OF as $kind) {
            $rows = array_merge($rows, select_in("SELECT id FROM $table WHERE failure <> '' AND event LIKE '{$kind}\\_%%' AND record_id", '%d', $this->ids[$kind]));
        }
        $emails = array_merge($this->present, $this->former);
        [$condition, $parameters] = having_address(['failure'], $emails);
        $named = array_filter(
            $wpdb->get_results($wpdb->prepare("SELECT id, failure FROM $table WHERE $condition ORDER BY id", ...$parameters)),
            fn($event) => names_address((string) $event->failure, $emails)
        );
        return array_values(array_column(array_merge($rows, $named), null, 'id'));
    }

    /** Reports whether a failure of the companion is about one of the person's records, or names the addresses. */
    public function isIn(string $failure): bool
    {
        return (preg_match('/^(' . implode('|', self::EVENTS_OF) . ')_[a-z_]+ (\d+):/', $failure, $event) && in_array((int) $event[2], $this->ids[$event[1]], true))
            || names_address($failure, array_merge($this->present, $this->former));
    }

    /** @return \WP_User[] The users of WordPress with the address, or linked with the customers. */
    public function users(): array
    {
        $users = array_filter(array_merge(
            [get_user_by('email', $this->email)],
            array_map(fn($customer) => empty($customer->wordpress_user_id) ? false : get_userdata((int) $customer->wordpress_user_id), $this->customers)
        ));
        return array_values(array_column($users, null, 'ID'));
    }
}

/** Returns the customers with an e-mail address, or of the WordPress user with it. */
function customers_of(string $email, int $skipped = 0, int $limit = 1000): array
{
    global $wpdb;
    $table = platform_table('customers');
    if ($email === '' || !has_table($table)) {
        return [];
    }
    $user = get_user_by('email', $email);
    return $wpdb->get_results($wpdb->prepare(
        "SELECT * FROM $table WHERE email = %s OR (wordpress_user_id = %d AND wordpress_user_id <> 0) ORDER BY id LIMIT %d OFFSET %d",
        $email,
        $user ? $user->ID : 0,
        $limit,
        $skipped
    ));
}

/** Reports whether the site writes to an address about its customers: an agent's, an administrator's, or one that a process of LatePoint names. */
function is_staff(string $email): bool
{
    global $wpdb;
    $user = get_user_by('email', $email);
    if ($email === '' || strcasecmp($email, (string) get_option('admin_email')) === 0 || ($user && user_can($user, 'edit_posts'))) {
        return $email !== '';
    }
    foreach (['agents' => ['email', 'extra_emails'], 'processes' => ['actions_json']] as $table => $columns) {
        foreach (rows_naming($table, array_intersect($columns, columns_of(platform_table($table))), [$email]) as $row) {
            $texts = array_map(fn($column) => (new Mentions((string) ($row->$column ?? '')))->text, $columns);
            if (names_address(implode("\n", $texts), [$email])) {
                return true;
            }
        }
    }
    return false;
}

/** Returns the ids of rows with some values in a column of numbers. */
function ids_where(string $table, string $column, array $values): array
{
    return id_list(wp_list_pluck(rows_where($table, $column, $values, 'id'), 'id'));
}

/** Returns rows of a table of LatePoint with some values in a column of numbers; none if the table does not exist. */
function rows_where(string $table, string $column, array $values, string $columns = '*'): array
{
    $name = platform_table($table);
    return has_table($name) ? select_in("SELECT $columns FROM $name WHERE $column", '%d', $values) : [];
}

/** Returns the rows in which a column has one of some values, whose mark is %d or %s. */
function select_in(string $select, string $mark, array $values): array
{
    global $wpdb;
    $rows = [];
    foreach (array_chunk($values, 1000) as $chunk) {
        $marks = implode(', ', array_fill(0, count($chunk), $mark));
        $rows = array_merge($rows, $wpdb->get_results($wpdb->prepare("$select IN ($marks) ORDER BY id", ...$chunk)));
    }
    return $rows;
}

/** Returns the rows of a table of LatePoint that have one of some addresses in one of some columns, or one that begins or ends like it. */
function rows_naming(string $table, array $columns, array $emails): array
{
    global $wpdb;
    $name = platform_table($table);
    if (!$columns || !$emails || !has_table($name)) {
        return [];
    }
    [$condition, $parameters] = having_address($columns, $emails);
    return $wpdb->get_results($wpdb->prepare("SELECT * FROM $name WHERE $condition ORDER BY id", ...$parameters));
}

function id_list(array $values): array
{
    return array_map('intval', $values);
}

/** Returns the rows of a meta table of some records. */
function metas_of(string $kind, array $ids): array
{
    return rows_where($kind . '_meta', 'object_id', $ids);
}
