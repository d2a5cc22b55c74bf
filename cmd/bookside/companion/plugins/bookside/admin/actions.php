<?php

/**
 * The actions of the page's forms.
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
    /** @var array<string,mixed> The settings as typed, to show them again. */
    public $typed = [];
    /** @var array<string,mixed> The form of a key as typed, from the server; empty if there is none to show again. */
    public $form = [];
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
    $actions = ['create', 'restrict', 'roll', 'revoke', 'settings', 'forget', 'again'];
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

/** Returns the fields of a key's form as typed, for the server to check. A preset counts where no permission is ticked. */
function typed_fields(): array
{
    $typed = [];
    foreach (array_keys($_POST) as $name) {
        if (preg_match('/^(?!bookside_)[a-z][a-z_]{0,30}$/D', (string) $name)) {
            $typed[$name] = is_array($_POST[$name]) ? implode(',', array_map('sanitize_key', wp_unslash($_POST[$name]))) : typed_text($name);
        }
    }
    $ticked = $typed['permissions'] ?? '';
    return ['permissions' => $ticked, 'preset' => $ticked === '' ? ($typed['preset'] ?? '') : ''] + $typed;
}

/**
 * Shows the server's response to a form. Returns whether the server accepted it.
 *
 * @param array<string,mixed>|\WP_Error $answer
 */
function accepted(FormOutcome $outcome, $answer): bool
{
    if (is_wp_error($answer)) {
        $outcome->errors->add('form', $answer->get_error_message());
        return false;
    }
    $outcome->form = isset($answer['fields']) ? $answer : [];
    if (($answer['problem'] ?? '') !== '') {
        $outcome->errors->add('form', said($answer['problem']));
    }
    foreach ($answer['fields'] ?? [] as $field) {
        if ($field['error'] !== '') {
            $outcome->errors->add($field['name'], said_with_values($field['error']));
        }
    }
    return !$outcome->form;
}

function handle_create(FormOutcome $outcome): void
{
    show_made($outcome, make_key(typed_fields()));
}

/** @param array<string,mixed>|\WP_Error $made What make_key returned. */
function show_made(FormOutcome $outcome, $made): void
{
    if (accepted($outcome, $made)) {
        [$outcome->secret, $outcome->key] = [(string) $made['secret'], (int) $made['id']];
    }
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
    if (accepted($outcome, restrict_key((int) $key->id, typed_fields()))) {
        finish($outcome, true, 'keys', 'changed');
    }
}

function handle_roll(FormOutcome $outcome): void
{
    $key = typed_key($outcome);
    if ($key !== null) {
        show_made($outcome, make_key(typed_fields(), (int) $key->id));
    }
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
        'staff_overbooking' => typed_text('staff_overbooking') !== '', 'jobs' => typed_text('jobs') !== '', 'abilities' => typed_text('abilities') !== '',
        'forward' => typed_text('forward'), 'admin' => typed_text('admin'),
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

function handle_again(FormOutcome $outcome): void
{
    $answer = ask_server('/extensions/' . absint(typed_text('event')) . '/again', []);
    if (is_wp_error($answer)) {
        $outcome->errors->add('form', $answer->get_error_message());
        return;
    }
    finish($outcome, true, 'extensions', 'again');
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
