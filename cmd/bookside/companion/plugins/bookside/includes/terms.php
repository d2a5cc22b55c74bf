<?php

/**
 * Words for what a key may do and what it is limited to. The server has the rules.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/** Returns a permission for people, such as "read bookings". */
function permission_text(string $permission): string
{
    [$verb, $resource] = array_pad(explode('_', $permission, 2), 2, '');
    /* translators: 1: read, write or delete. 2: what, such as bookings. */
    return sprintf(_x('%1$s %2$s', 'permission', 'bookside'), verb_text($verb), resource_text($resource));
}

/** Returns the verb of a permission for people. */
function verb_text(string $verb): string
{
    $texts = ['read' => __('read', 'bookside'), 'write' => __('write', 'bookside'), 'delete' => __('delete', 'bookside')];
    return $texts[$verb] ?? $verb;
}

/** Returns a resource for people; '' is everything. */
function resource_text(string $resource): string
{
    $texts = [
        '' => __('everything', 'bookside'), 'bookings' => __('bookings', 'bookside'), 'customers' => __('customers', 'bookside'),
        'agents' => __('agents', 'bookside'), 'services' => __('services', 'bookside'), 'locations' => __('locations', 'bookside'),
        'payments' => __('payments', 'bookside'), 'orders' => __('orders', 'bookside'), 'coupons' => __('coupons', 'bookside'),
        'availability' => __('availability', 'bookside'), 'changes' => __('changes', 'bookside'), 'users' => __('users', 'bookside'),
        'webhooks' => __('webhooks', 'bookside'), 'invoices' => __('invoices', 'bookside'),
    ];
    return $texts[$resource] ?? $resource;
}

/** Returns what a key, or a webhook, is limited to, for people; empty for most. */
function limit_texts(array $key): array
{
    $texts = [
        /* translators: %s: ids with names, such as 3 Ada, 4 Ben. */
        'agents' => __('agents %s', 'bookside'),
        /* translators: %s: ids with names, such as 3 Ada, 4 Ben. */
        'services' => __('services %s', 'bookside'),
        /* translators: %s: ids with names, such as 3 Ada, 4 Ben. */
        'locations' => __('locations %s', 'bookside'),
    ];
    $limits = [];
    foreach ($texts as $of => $text) {
        if ($key[$of] !== '') {
            $limits[] = sprintf($text, $key[$of]);
        }
    }
    if (!empty($key['mask_personal'])) {
        $limits[] = __('personal data masked', 'bookside');
    }
    return $limits;
}
