<?php

/**
 * WordPress's export and erasure of personal data, for the data in LatePoint and Bookside.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

// LatePoint's secrets are not shown to the person.
const UNEXPORTED = ['password', 'activation_key', 'account_nonse', 'otp_hash', 'access_key', 'token'];

function add_exporter(array $exporters): array
{
    $exporters['bookside'] = ['exporter_friendly_name' => __('Appointments (LatePoint and Bookside)', 'bookside'), 'callback' => __NAMESPACE__ . '\\export_person'];
    return $exporters;
}

function add_eraser(array $erasers): array
{
    $erasers['bookside'] = ['eraser_friendly_name' => __('Appointments (LatePoint and Bookside)', 'bookside'), 'callback' => __NAMESPACE__ . '\\erase_person'];
    return $erasers;
}

/**
 * Exports everything about a person, some customers with their records per page. Data that also names other customers is left out.
 *
 * @return array{data:array,done:bool}
 */
function export_person(string $email, int $page = 1): array
{
    $person = new Person($email, ($page - 1) * CUSTOMERS_AT_A_TIME);
    $ids = $person->ids;
    $groups = [
        ['latepoint-customers', __('Customer', 'bookside'), $person->customers],
        ['latepoint-customer-fields', __('Customer: more fields', 'bookside'), metas_of('customer', $ids['customer'])],
        ['latepoint-bookings', __('Appointments', 'bookside'), rows_where('bookings', 'id', $ids['booking'])],
        ['latepoint-booking-fields', __('Appointments: more fields', 'bookside'), metas_of('booking', $ids['booking'])],
        ['latepoint-orders', __('Orders', 'bookside'), rows_where('orders', 'id', $ids['order'])],
        ['latepoint-order-fields', __('Orders: more fields', 'bookside'), metas_of('order', $ids['order'])],
        ['latepoint-order-items', __('Items of orders', 'bookside'), rows_where('order_items', 'order_id', $ids['order'])],
        ['latepoint-invoices', __('Invoices', 'bookside'), $person->invoices()],
        ['latepoint-payments', __('Payments', 'bookside'), $person->transactions()],
        ['latepoint-intents', __('Unfinished orders', 'bookside'), $person->intents('order_intents')],
        ['latepoint-payment-intents', __('Unfinished payments', 'bookside'), $person->intents('transaction_intents')],
        ['latepoint-activities', __('History', 'bookside'), $person->activities(false)],
        ['latepoint-jobs', __('Notifications', 'bookside'), $person->jobs(false)],
        ['latepoint-codes', __('Codes for logging in', 'bookside'), $person->loginCodes()],
        ['bookside-customers', __('Customer: more fields', 'bookside'), $person->described()],
        ['bookside-responses', __('Responses of the booking API', 'bookside'), $person->responses()],
        ['bookside-webhooks', __('Answers of webhooks', 'bookside'), $person->webhookAnswers()],
    ];
    $data = [];
    foreach ($groups as [$id, $label, $rows]) {
        $data = array_merge($data, export_rows($id, $label, $rows));
    }
    return ['data' => $data, 'done' => !$person->more];
}

/** Returns rows as items of an export, without empty columns and secrets. */
function export_rows(string $group, string $label, array $rows): array
{
    $items = [];
    foreach ($rows as $row) {
        $fields = [];
        foreach (get_object_vars($row) as $column => $value) {
            if ($value === null || $value === '' || in_array($column, UNEXPORTED, true) || strncmp((string) ($row->meta_key ?? ''), 'key_to_manage', 13) === 0) {
                continue;
            }
            $fields[] = ['name' => $column, 'value' => esc_html(without_links((string) $value))];
        }
        if ($fields) {
            $items[] = ['group_id' => $group, 'group_label' => $label, 'item_id' => $group . '-' . $row->id, 'data' => $fields];
        }
    }
    return $items;
}

/** Returns a text without the keys of the links by which LatePoint lets customers and agents manage an appointment. */
function without_links(string $text): string
{
    return (string) preg_replace('/(_by_key__\w+(?:&|&amp;|&#0?38;|\\\\u0026)key=)[0-9a-f]+/i', '$1…', $text);
}

/**
 * Erases everything about a person, some customers per page. Customers with bookings or orders are anonymised, because the accounts refer to them; others
 * are deleted.
 *
 * @return array{items_removed:bool,items_retained:bool,messages:string[],done:bool}
 */
function erase_person(string $email, int $page = 1): array
{
    // Customers of earlier pages have another address now.
    $more = false;
    $outcome = in_transaction(function () use ($email, &$more) {
        $person = new Person($email);
        $more = $person->more;
        $erasure = new Erasure($person);
        $erasure->run();
        return $erasure->failed ? database_failed() : $erasure;
    });
    if (is_wp_error($outcome)) {
        return ['items_removed' => false, 'items_retained' => true, 'messages' => [$outcome->get_error_message()], 'done' => true];
    }
    return [
        'items_removed' => $outcome->changed > 0,
        'items_retained' => (bool) $outcome->messages,
        'messages' => $outcome->messages,
        'done' => !$more,
    ];
}

/** The erasure of a person. */
class Erasure
{
    /** @var int Rows that were changed or deleted. */
    public int $changed = 0;

    /** @var bool Whether a statement failed. */
    public bool $failed = false;

    /** @var string[] What stays, and why. */
    public array $messages = [];

    private Person $person;

    public function __construct(Person $person)
    {
        $this->person = $person;
    }

    public function run(): void
    {
        $person = $this->person;
        $this->say();
        $this->delete('activities', 'id', self::idsOf($person->activities(true)));
        $this->delete('process_jobs', 'id', self::idsOf($person->jobs(true)));
        $this->delete('customer_otp_codes', 'id', self::idsOf($person->loginCodes()));
        $this->own();
        foreach (['order_intents', 'transaction_intents'] as $intents) {
            $this->delete($intents, 'id', self::idsOf($person->intents($intents)));
        }
        foreach (['customer', 'booking', 'order'] as $kind) {
            $this->delete($kind . '_meta', 'object_id', $person->ids[$kind]);
        }
        $noted = array_filter($person->transactions(), fn($transaction) => (string) $transaction->notes !== '');
        $this->update('transactions', ['notes' => ''], self::idsOf($noted));
        $this->update('orders', [
            'customer_comment' => '', 'ip_address' => '', 'source_url' => '', 'initial_payment_data' => '',
        ], self::idsOf(rows_where('orders', 'id', $person->ids['order'], 'id')));
        $this->customers();
    }

    /** Deletes the customers without bookings and orders, and empties what tells who the others are. */
    private function customers(): void
    {
        $ids = self::idsOf($this->person->customers);
        $kept = array_merge(
            wp_list_pluck(rows_where('bookings', 'customer_id', $ids, 'id, customer_id'), 'customer_id'),
            wp_list_pluck(rows_where('orders', 'customer_id', $ids, 'id, customer_id'), 'customer_id')
        );
        $kept = array_values(array_unique(array_map('intval', $kept)));
        $this->delete('customers', 'id', array_values(array_diff($ids, $kept)));
        foreach ($kept as $id) {
            $this->update('customers', [
                'first_name' => wp_privacy_anonymize_data('text', ''), 'last_name' => '', 'email' => 'deleted-' . $id . '@site.invalid', 'phone' => '',
                'notes' => '', 'admin_notes' => '', 'password' => null, 'activation_key' => null, 'account_nonse' => null, 'google_user_id' => null,
                'facebook_user_id' => null, 'wordpress_user_id' => null, 'avatar_image_id' => null, 'uuid' => null,
            ], [$id]);
        }
    }

    /** Says what stays. */
    private function say(): void
    {
        $upcoming = $this->upcoming($this->person->ids['booking']);
        if ($upcoming > 0) {
            $this->messages[] = sprintf(
                /* translators: %s: a number. */
                _n(
                    '%s upcoming appointment stays, without a name. Cancel it in LatePoint if it will not take place.',
                    '%s upcoming appointments stay, without a name. Cancel them in LatePoint if they will not take place.',
                    $upcoming,
                    'bookside'
                ),
                number_format_i18n($upcoming)
            );
        }
        $invoices = count($this->person->invoices());
        if ($invoices > 0) {
            $this->messages[] = sprintf(
                /* translators: %s: a number. */
                _n('%s invoice stays as it was issued.', '%s invoices stay as they were issued.', $invoices, 'bookside'),
                number_format_i18n($invoices)
            );
        }
        $users = wp_list_pluck($this->person->users(), 'user_login');
        if ($users) {
            $this->messages[] = sprintf(
                /* translators: %s: names of users, separated by commas. */
                _n(
                    'The WordPress user %s stays. Delete it on the page Users if nobody needs it.',
                    'The WordPress users %s stay. Delete them on the page Users if nobody needs them.',
                    count($users),
                    'bookside'
                ),
                implode(', ', $users)
            );
        }
        if ($this->person->renamed) {
            $this->messages[] = sprintf(
                /* translators: %s: numbers, separated by commas. */
                _n(
                    'The customer %s had this address and has another one now. If it is the same person, erase that address, too.',
                    'The customers %s had this address and have others now. If it is the same person, erase those addresses, too.',
                    count($this->person->renamed),
                    'bookside'
                ),
                implode(', ', $this->person->renamed)
            );
        }
    }

    /** Erases what the sidecar holds: customers as keys described them, the responses that it repeats, what receivers of webhooks answered, and the errors of extensions. */
    private function own(): void
    {
        global $wpdb;
        foreach ($this->person->described() as $customer) {
            $this->count($wpdb->delete(own_table('booking_customers'), ['id' => $customer->id]));
        }
        if (has_table(own_table('events'))) {
            foreach (['customer', 'order'] as $kind) {
                foreach ($this->person->ids[$kind] as $id) { // extensions are then told about the current record
                    $this->count($wpdb->update(own_table('events'), ['old' => null], ['event' => $kind . '_updated', 'record_id' => $id]));
                }
            }
        }
        foreach ($this->person->failedEvents() as $event) {
            $this->count($wpdb->update(own_table('events'), ['failure' => ''], ['id' => $event->id]));
        }
        $failures = bookside_companion_failures();
        foreach ($failures as $what => $failure) {
            if ($this->person->isIn((string) $failure['message'])) {
                $failures[$what]['message'] = '…';
                $this->changed++;
            }
        }
        if ($failures !== bookside_companion_failures()) {
            update_option('bookside_companion_failures', $failures, false);
        }
        // The row must stay: without it, a repeated request would book again.
        $gone = wp_json_encode(['code' => 'erased', 'message' => 'The data of this response was erased.', 'data' => ['status' => 410]]);
        foreach ($this->person->responses() as $response) {
            $this->count($wpdb->update(own_table('idempotency'), ['status' => 410, 'answer' => $gone], ['id' => $response->id]));
        }
        foreach ($this->person->webhookAnswers() as $try) {
            $this->count($wpdb->update(own_table('webhook_tries'), ['answer' => ''], ['id' => $try->id]));
        }
    }

    /** Returns how many of some bookings take place from today on. */
    private function upcoming(array $bookings): int
    {
        $today = (string) wp_date('Y-m-d');
        return count(array_filter(
            rows_where('bookings', 'id', $bookings, 'id, start_date, status'),
            fn($booking) => $booking->start_date >= $today && $booking->status !== 'cancelled'
        ));
    }

    /** Updates those of the columns that the table has: LatePoint's versions differ. */
    private function update(string $table, array $values, array $ids): void
    {
        global $wpdb;
        $values = array_intersect_key($values + ['updated_at' => utc_now()], array_flip(columns_of(platform_table($table))));
        foreach ($values ? $ids : [] as $id) {
            $this->count($wpdb->update(platform_table($table), $values, ['id' => $id]));
        }
    }

    /** @return int[] */
    private static function idsOf(array $rows): array
    {
        return array_values(id_list(wp_list_pluck($rows, 'id')));
    }

    private function delete(string $table, string $column, array $ids): void
    {
        global $wpdb;
        $name = platform_table($table);
        if (!has_table($name)) {
            return;
        }
        foreach (array_chunk($ids, 1000) as $chunk) {
            $marks = implode(', ', array_fill(0, count($chunk), '%d'));
            $this->count($wpdb->query($wpdb->prepare("DELETE FROM $name WHERE $column IN ($marks)", ...$chunk)));
        }
    }

    /** @param int|false $rows What wpdb returned. */
    private function count($rows): void
    {
        if ($rows === false) {
            $this->failed = true;
        }
        $this->changed += (int) $rows;
    }
}
