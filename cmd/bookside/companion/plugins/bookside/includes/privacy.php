<?php

/**
 * WordPress's export and erasure of personal data, for what LatePoint and Bookside hold.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

// LatePoint's secrets are not part of what a person gets to see.
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
 * Exports everything about a person, one customer's records per page.
 *
 * @return array{data:array,done:bool}
 */
function export_person(string $email, int $page = 1): array
{
    $customers = customers_of($email);
    $data = [];
    if ($page === 1) {
        $data = export_rows('latepoint-codes', __('Codes for logging in', 'bookside'), codes_of($email, ''));
        $data = array_merge($data, export_rows('bookside-mails', __('Mails of the booking API', 'bookside'), mails_of($email)));
        $data = array_merge($data, export_rows('bookside-responses', __('Responses of the booking API', 'bookside'), responses_of($email)));
    }
    if (isset($customers[$page - 1])) {
        $data = array_merge($data, export_customer($customers[$page - 1]));
    }
    return ['data' => $data, 'done' => $page >= count($customers)];
}

function export_customer(object $customer): array
{
    $records = records_of((int) $customer->id);
    $ids = $records['customer'];
    $orders = $records['order'];
    $groups = [
        ['latepoint-customers', __('Customer', 'bookside'), [$customer]],
        ['latepoint-customer-fields', __('Customer: more fields', 'bookside'), metas_of('customer', $ids)],
        ['latepoint-bookings', __('Appointments', 'bookside'), rows_where('bookings', 'id', $records['booking'])],
        ['latepoint-booking-fields', __('Appointments: more fields', 'bookside'), metas_of('booking', $records['booking'])],
        ['latepoint-orders', __('Orders', 'bookside'), rows_where('orders', 'id', $orders)],
        ['latepoint-order-fields', __('Orders: more fields', 'bookside'), metas_of('order', $orders)],
        ['latepoint-order-items', __('Items of orders', 'bookside'), rows_where('order_items', 'order_id', $orders)],
        ['latepoint-invoices', __('Invoices', 'bookside'), rows_where('order_invoices', 'order_id', $orders)],
        ['latepoint-payments', __('Payments', 'bookside'), rows_where('transactions', 'customer_id', $ids)],
        ['latepoint-intents', __('Unfinished orders', 'bookside'), rows_where('order_intents', 'customer_id', $ids)],
        ['latepoint-payment-intents', __('Unfinished payments', 'bookside'), rows_where('transaction_intents', 'customer_id', $ids)],
        ['latepoint-activities', __('History', 'bookside'), activities_of($records)],
        ['latepoint-jobs', __('Notifications', 'bookside'), jobs_of($records)],
    ];
    $data = [];
    foreach ($groups as [$id, $label, $rows]) {
        $data = array_merge($data, export_rows($id, $label, $rows));
    }
    return $data;
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
            $fields[] = ['name' => $column, 'value' => esc_html((string) $value)];
        }
        if ($fields) {
            $items[] = ['group_id' => $group, 'group_label' => $label, 'item_id' => $group . '-' . $row->id, 'data' => $fields];
        }
    }
    return $items;
}

/**
 * Erases everything about a person, one customer per page. Customers with bookings or orders are anonymised, because the accounts refer to them; others
 * are deleted.
 *
 * @return array{items_removed:bool,items_retained:bool,messages:string[],done:bool}
 */
function erase_person(string $email, int $page = 1): array
{
    $result = ['items_removed' => false, 'items_retained' => false, 'messages' => [], 'done' => true];
    // Those of earlier pages have another address now, so that the first one is the next.
    $customers = customers_of($email);
    $outcome = in_transaction(function () use ($customers, $email) {
        $erasure = new Erasure();
        if ($customers) {
            $erasure->customer($customers[0]);
        }
        if (count($customers) < 2) {
            $erasure->address($email);
        }
        return $erasure->failed ? database_failed() : $erasure;
    });
    if (is_wp_error($outcome)) {
        $result['items_retained'] = true;
        $result['messages'][] = $outcome->get_error_message();
        return $result;
    }
    $result['items_removed'] = $outcome->changed > 0;
    $result['items_retained'] = (bool) $outcome->messages;
    $result['messages'] = $outcome->messages;
    $result['done'] = count($customers) < 2;
    return $result;
}

/** The erasure of one customer. */
class Erasure
{
    /** @var int Rows that were changed or deleted. */
    public $changed = 0;
    /** @var bool Whether a statement failed. */
    public $failed = false;
    /** @var string[] What stays, and why. */
    public $messages = [];

    public function customer(object $customer): void
    {
        $id = (int) $customer->id;
        $records = records_of($id);
        $this->history($records);
        foreach (['order_intents', 'transaction_intents'] as $intents) {
            $this->delete($intents, 'customer_id', [$id]);
        }
        $this->delete('customer_meta', 'object_id', [$id]);
        $this->codes($customer);
        if (!$records['booking'] && !$records['order']) {
            $this->delete('customers', 'id', [$id]);
            return;
        }
        $this->anonymise($id, $records);
    }

    /** Empties what tells who the customer of bookings and orders is. */
    private function anonymise(int $id, array $records): void
    {
        $text = wp_privacy_anonymize_data('text', '');
        $this->update('customers', $this->present('customers', [
            'first_name' => $text, 'last_name' => '', 'email' => 'deleted-' . $id . '@site.invalid', 'phone' => '', 'notes' => '', 'admin_notes' => '',
            'password' => null, 'activation_key' => null, 'account_nonse' => null, 'google_user_id' => null, 'facebook_user_id' => null,
            'wordpress_user_id' => null, 'avatar_image_id' => null, 'uuid' => null,
        ]), 'id', [$id]);
        $this->update('orders', $this->present('orders', [
            'customer_comment' => '', 'ip_address' => '', 'source_url' => '', 'initial_payment_data' => '',
        ]), 'id', $records['order']);
        $this->update('transactions', $this->present('transactions', ['notes' => '']), 'customer_id', [$id]);
        foreach (['booking', 'order'] as $kind) {
            $this->delete($kind . '_meta', 'object_id', $records[$kind]);
        }
        $upcoming = $this->upcoming($records['booking']);
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
        $invoices = count(ids_where('order_invoices', 'order_id', $records['order']));
        if ($invoices > 0) {
            $this->messages[] = sprintf(
                /* translators: %s: a number. */
                _n('%s invoice stays as it was issued.', '%s invoices stay as they were issued.', $invoices, 'bookside'),
                number_format_i18n($invoices)
            );
        }
    }

    /** Deletes the history and the notifications of records. */
    private function history(array $records): void
    {
        $this->delete('activities', 'id', array_map('intval', wp_list_pluck(activities_of($records), 'id')));
        $this->delete('process_jobs', 'id', array_map('intval', wp_list_pluck(jobs_of($records), 'id')));
    }

    private function codes(object $customer): void
    {
        $codes = codes_of((string) $customer->email, (string) $customer->phone);
        $this->delete('customer_otp_codes', 'id', array_map('intval', wp_list_pluck($codes, 'id')));
        $this->own((string) $customer->email);
    }

    /** Erases what is held of an address without a customer. */
    public function address(string $email): void
    {
        $this->delete('customer_otp_codes', 'id', array_map('intval', wp_list_pluck(codes_of($email, ''), 'id')));
        $this->own($email);
    }

    /** Erases what the sidecar holds: its mails, and the responses that it repeats. */
    private function own(string $email): void
    {
        global $wpdb;
        if ($email === '') {
            return;
        }
        foreach (mails_of($email) as $mail) {
            $this->count($wpdb->delete(own_table('outbox'), ['id' => $mail->id]));
        }
        // The row has to stay: without it, a request that is repeated would book once more.
        $gone = wp_json_encode(['code' => 'erased', 'message' => 'The data of this response was erased.', 'data' => ['status' => 410]]);
        foreach (responses_of($email) as $response) {
            $this->count($wpdb->update(own_table('idempotency'), ['status' => 410, 'answer' => $gone], ['id' => $response->id]));
        }
        if (has_table(own_table('webhook_tries'))) {
            $this->count($wpdb->query($wpdb->prepare(
                'UPDATE ' . own_table('webhook_tries') . " SET answer = '' WHERE answer LIKE %s",
                '%' . $wpdb->esc_like($email) . '%'
            )));
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

    /** Returns those of the columns that the table has: LatePoint's versions differ. */
    private function present(string $table, array $values): array
    {
        return array_intersect_key($values, array_flip(columns_of(platform_table($table))));
    }

    private function update(string $table, array $values, string $column, array $ids): void
    {
        global $wpdb;
        if (!$values || !has_table(platform_table($table))) {
            return;
        }
        $values += $this->present($table, ['updated_at' => utc_now()]);
        foreach ($ids as $id) {
            $this->count($wpdb->update(platform_table($table), $values, [$column => $id]));
        }
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
