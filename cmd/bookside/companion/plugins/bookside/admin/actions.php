<?php

/**
 * What the forms of the page do.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/** What a form did in this request. */
class FormOutcome
{
    /** @var \WP_Error What is wrong, by field. */
    public $errors;
    /** @var array<string,mixed> What was typed, to show it again. */
    public $typed = [];
    /** @var string A new key, which is shown once. */
    public $secret = '';
    /** @var int The id of the new key. */
    public $key = 0;

    public function __construct()
    {
        $this->errors = new \WP_Error();
    }
}

/** Returns the outcome of this request, which is empty before a form was sent. */
function form_outcome(): FormOutcome
{
    static $outcome = null;
    $outcome = $outcome ?? new FormOutcome();
    return $outcome;
}

/** Acts on a form. Redirects if it succeeded, unless there is a key to show. */
function handle_form(): void
{
    if (!current_user_can(capability())) {
        wp_die(esc_html__('You are not allowed to do this.', 'bookside'), '', ['response' => 403]);
    }
    $action = isset($_POST['bookside_action']) ? sanitize_key(wp_unslash($_POST['bookside_action'])) : '';
    $actions = ['create', 'restrict', 'roll', 'revoke', 'settings', 'forget'];
    if (!in_array($action, $actions, true)) {
        wp_die(esc_html__('There is no such form.', 'bookside'), '', ['response' => 400]);
    }
    check_admin_referer('bookside_' . $action, 'bookside_nonce');
    nocache_headers();
    call_user_func(__NAMESPACE__ . '\\handle_' . $action, form_outcome());
}

/** Returns a text of the form that was sent, exactly: whoever stores it checks it, and whoever shows it escapes it. */
function typed_text(string $field): string
{
    return isset($_POST[$field]) && is_string($_POST[$field]) ? trim(str_replace("\r\n", "\n", wp_check_invalid_utf8(wp_unslash($_POST[$field])))) : '';
}

/** Returns the terms of a key as typed. A preset counts where no permission is ticked. */
function typed_terms(): array
{
    $ticked = isset($_POST['permissions']) && is_array($_POST['permissions']) ? array_map('sanitize_key', wp_unslash($_POST['permissions'])) : [];
    $preset = permission_presets()[typed_text('preset')] ?? null;
    return [
        'name' => typed_text('name'), 'kind' => typed_text('kind'), 'permissions' => !$ticked && $preset ? $preset[1] : $ticked,
        'networks' => typed_text('networks'), 'expires' => typed_text('expires'), 'per_minute' => typed_text('per_minute'), 'per_hour' => typed_text('per_hour'),
    ] + array_combine(limit_columns(), array_map(__NAMESPACE__ . '\\typed_text', limit_columns()));
}

function handle_create(FormOutcome $outcome): void
{
    $outcome->typed = typed_terms();
    $columns = parse_terms($outcome->typed, $outcome->errors);
    if ($outcome->errors->has_errors()) {
        return;
    }
    if (!spend_form(typed_text('form'))) {
        $outcome->errors->add('form', keys_available()
            ? __('This form was already sent, and its key was shown then. If you did not copy it, revoke it and create another one.', 'bookside')
            : keys_missing()->get_error_message());
        return;
    }
    show_created($outcome, create_key($columns));
}

/** @param array|\WP_Error $created What create_key or roll_key returned. */
function show_created(FormOutcome $outcome, $created): void
{
    if (is_wp_error($created)) {
        $outcome->errors->add('form', $created->get_error_message());
        return;
    }
    [$outcome->secret, $outcome->key] = $created;
}

/** Returns the key that a form is about. Its own page says it if the key is gone. */
function typed_key(FormOutcome $outcome): ?object
{
    $key = find_key(absint(typed_text('key')));
    if ($key === null || key_status($key) === 'revoked') {
        $outcome->errors->add('form', __('There is no such key, or it is revoked.', 'bookside'));
        return null;
    }
    return $key;
}

function handle_restrict(FormOutcome $outcome): void
{
    $key = typed_key($outcome);
    if ($key === null) {
        return;
    }
    $outcome->typed = typed_terms();
    unset($outcome->typed['kind']);
    if (!hash_equals(terms_version($key), typed_text('version'))) {
        $outcome->errors->add('form', __('Somebody else has changed this key in the meantime. Compare with the list of keys before you send the form again.', 'bookside'));
        return;
    }
    // What is not changed is not checked: the last day of a key may be in the past.
    $stored = stored_terms($key);
    $changed = array_filter($outcome->typed, fn($value, $field) => $value !== $stored[$field], ARRAY_FILTER_USE_BOTH);
    $columns = parse_terms($changed, $outcome->errors);
    if ($outcome->errors->has_errors()) {
        return;
    }
    finish($outcome, restrict_key((int) $key->id, $columns), 'keys', 'changed');
}

function handle_roll(FormOutcome $outcome): void
{
    $key = typed_key($outcome);
    if ($key === null) {
        return;
    }
    if (!spend_form(typed_text('form'))) {
        $outcome->errors->add('form', __('This form was already sent, and its key was shown then. If you did not copy it, revoke it and create another one.', 'bookside'));
        return;
    }
    show_created($outcome, roll_key($key, min(absint(typed_text('hours')), 24 * 30)));
}

function handle_revoke(FormOutcome $outcome): void
{
    $key = typed_key($outcome);
    if ($key !== null) {
        finish($outcome, revoke_key((int) $key->id), 'keys', 'revoked');
    }
}

function handle_settings(FormOutcome $outcome): void
{
    $outcome->typed = [
        'staff_overbooking' => typed_text('staff_overbooking') !== '', 'jobs' => typed_text('jobs') !== '', 'forward' => typed_text('forward'),
        'admin' => typed_text('admin'),
    ];
    finish($outcome, save_settings($outcome->typed), 'settings', 'saved');
}

function handle_forget(FormOutcome $outcome): void
{
    if (function_exists('bookside_companion_clear_failures')) {
        bookside_companion_clear_failures();
    }
    finish($outcome, true, 'status', 'forgotten');
}

/** @param true|\WP_Error $result Of a change. */
function finish(FormOutcome $outcome, $result, string $tab, string $done): void
{
    if (is_wp_error($result)) {
        foreach ($result->get_error_codes() as $code) {
            $outcome->errors->add($code === 'bookside_database' ? 'form' : $code, $result->get_error_message($code));
        }
        return;
    }
    wp_safe_redirect(page_url($tab, ['done' => $done]));
    exit;
}
