<?php

/**
 * Mentions of customers in stored texts: history entries, jobs, and responses of the API, most of them JSON.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/** The customers and the records that a text names. */
class Mentions
{
    /** @var array<int,string[]> The addresses of the customers that are named, by the customer's id; those without an id have 0. */
    public array $customers = [];

    /** @var array<string,int[]> The ids of records, by kind: booking, order, order_item, transaction, payment_request. */
    public array $ids = [];

    /** @var string The text without the escapes of JSON. */
    public string $text = '';

    public function __construct(string ...$texts)
    {
        foreach ($texts as $text) {
            $decoded = json_decode($text, true);
            if (is_array($decoded)) {
                $this->read($decoded, '');
            } else {
                $this->text .= "\n" . $text;
            }
        }
    }

    /** Adds a customer that a column names. */
    public function customer(int $id, string $email = ''): void
    {
        if ($id > 0 || $email !== '') {
            $this->customers[$id] = array_merge($this->customers[$id] ?? [], $email === '' ? [] : [strtolower($email)]);
        }
    }

    private function read(array $values, string $key): void
    {
        if ($key === 'customer' || (isset($values['email']) && (isset($values['first_name']) || $key === 'customer_data_vars'))) {
            $this->customer(self::id($values['id'] ?? 0), is_string($values['email'] ?? null) ? trim($values['email']) : '');
        } elseif (isset($values['booking_code'])) {
            $this->add('booking', $values['id'] ?? 0);
        } elseif (isset($values['confirmation_code'])) {
            $this->add('order', $values['id'] ?? 0);
        }
        foreach ($values as $name => $value) {
            $name = (string) $name;
            if (!is_array($value)) {
                $this->value($name, $value);
            } elseif (in_array($name, ['agent', 'transactions', 'payments'], true)) {
                $this->textOf($value); // an order's may be a previous customer's
            } else {
                foreach ($name === 'order_items' ? $value : [] as $item) {
                    $this->add('order_item', $item['id'] ?? 0);
                }
                $this->read($value, $name);
            }
        }
    }

    /** @param mixed $value */
    private function value(string $name, $value): void
    {
        if ($name === 'customer_id') {
            $this->customer(self::id($value));
        } elseif (preg_match('/^(booking|order|order_item|transaction|payment_request)_id$/', $name, $kind)) {
            $this->add($kind[1], $value);
        } elseif (is_string($value)) {
            $this->text .= "\n" . $value;
        }
    }

    private function textOf(array $values): void
    {
        array_walk_recursive($values, function ($value): void {
            $this->text .= is_string($value) ? "\n" . $value : '';
        });
    }

    /** @param mixed $id */
    private function add(string $kind, $id): void
    {
        if (self::id($id) > 0) {
            $this->ids[$kind][] = self::id($id);
        }
    }

    /** @param mixed $value */
    private static function id($value): int
    {
        return is_scalar($value) && preg_match('/^\d{1,18}$/', (string) $value) ? (int) $value : 0;
    }
}

/** Returns how an address may be spelt in a text, in JSON, in HTML and in a URL. */
function spellings(string $email): array
{
    $json = trim((string) wp_json_encode($email), '"');
    $go = trim((string) wp_json_encode($email, JSON_HEX_AMP | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES), '"');
    $html = esc_html($email);
    return array_values(array_unique([$email, $json, $go, $html, str_replace('&#039;', '&#39;', $html), rawurlencode($email)]));
}

/** Reports whether a text has one of some addresses, and not merely one that begins or ends like it: ann@site.test is not in joann@site.test. */
function names_address(string $text, array $emails): bool
{
    foreach ([$text, html_entity_decode($text, ENT_QUOTES), rawurldecode($text)] as $spelt) {
        foreach ($emails as $email) {
            $address = '/(?<![\p{L}\p{N}._%+-])(?<![\p{L}\p{N}]\')' . preg_quote($email, '/') . '(?!-?[\p{L}\p{N}]|\.[\p{L}\p{N}])/iu';
            if (preg_match($address, $spelt)) {
                return true;
            }
        }
    }
    return false;
}

/** Returns the condition that one of some columns has an address in any spelling, and its parameters. */
function having_address(array $columns, array $emails): array
{
    global $wpdb;
    $conditions = [];
    $parameters = [];
    foreach ($emails as $email) {
        foreach (spellings($email) as $spelling) {
            foreach ($columns as $column) {
                $conditions[] = "$column LIKE %s";
                $parameters[] = '%' . $wpdb->esc_like($spelling) . '%';
            }
        }
    }
    return [$conditions ? '(' . implode(' OR ', $conditions) . ')' : '1 = 0', $parameters];
}
