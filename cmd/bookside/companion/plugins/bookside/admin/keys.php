<?php

/**
 * The tab Keys.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

function show_keys(): void
{
    $outcome = form_outcome();
    if ($outcome->secret !== '') {
        show_secret($outcome);
        return;
    }
    if (!keys_available()) {
        echo '<p>' . esc_html(keys_missing()->get_error_message()) . '</p>';
        return;
    }
    $form = isset($_GET['form']) ? sanitize_key(wp_unslash($_GET['form'])) : '';
    if ($form === 'create') {
        show_key_form(null);
        return;
    }
    $forms = ['restrict' => 'show_key_form', 'roll' => 'show_roll_form', 'revoke' => 'show_revoke_form'];
    $key = isset($forms[$form]) ? find_key(asked_id('key')) : null;
    if ($key !== null && key_status($key) !== 'revoked') {
        call_user_func(__NAMESPACE__ . '\\' . $forms[$form], $key);
        return;
    }
    show_key_list();
}

function show_secret(FormOutcome $outcome): void
{
    /* translators: %d: the number of a key. */
    echo '<h2>' . esc_html(sprintf(__('Key %d was created', 'bookside'), $outcome->key)) . '</h2>';
    echo '<p>' . esc_html__('Copy it now: it is shown only once, because only a hash of it is stored.', 'bookside') . '</p>';
    copy_field('bookside-secret', __('new key', 'bookside'), $outcome->secret, true);
    printf('<p><a href="%s">%s</a></p>', esc_url(page_url('keys')), esc_html__('I have copied it: back to all keys', 'bookside'));
}

function show_key_list(): void
{
    $answer = ask_server('/keys');
    if (is_wp_error($answer)) {
        show_keys_without_server($answer);
        return;
    }
    printf('<p><a href="%s" class="button button-primary">%s</a></p>', esc_url(page_url('keys', ['form' => 'create'])), esc_html__('New key', 'bookside'));
    $active = $ended = [];
    foreach ($answer['keys'] ?? [] as $key) {
        if ($key['status'] === 'active') {
            $active[] = key_row($key);
        } else {
            $ended[] = key_row($key);
        }
    }
    $columns = [
        'name' => __('Name', 'bookside'), 'permissions' => __('Permissions', 'bookside'), 'networks' => __('Networks', 'bookside'),
        'requests' => __('Requests', 'bookside'), 'used' => __('Last use', 'bookside'), 'state' => __('State', 'bookside'),
    ];
    show_table(__('Keys in use', 'bookside'), $columns, $active, __('No key is in use. Every app needs one: create it here, and enter it in the app.', 'bookside'));
    if ($ended) {
        /* translators: %s: a number. */
        echo '<details class="bookside-more"><summary>' . esc_html(sprintf(__('Revoked and expired keys (%s)', 'bookside'), number_format_i18n(count($ended)))) . '</summary>';
        show_table(__('Revoked and expired keys', 'bookside'), $columns, $ended, '');
        echo '</details>';
    }
}

/** Shows the keys in use as far as the database tells them: revoking one may be urgent. */
function show_keys_without_server(\WP_Error $problem): void
{
    show_problem($problem);
    $rows = [];
    foreach (list_keys() as $key) {
        if (key_status($key) === 'active') {
            $links = [page_url('keys', ['form' => 'revoke', 'key' => $key->id]) => __('Revoke', 'bookside')];
            $rows[] = ['name' => key_name((int) $key->id, $key->name, $key->kind, masked_secret($key)) . row_actions($links, $key->name), 'used' => esc_html(local_time($key->last_used_at) ?: __('never', 'bookside'))];
        }
    }
    echo '<p>' . esc_html__('Until the server answers, keys can only be revoked.', 'bookside') . '</p>';
    show_table(__('Keys in use', 'bookside'), ['name' => __('Name', 'bookside'), 'used' => __('Last use', 'bookside')], $rows, __('No key is in use.', 'bookside'));
}

/** Returns the name of a key and what tells it from others, escaped. */
function key_name(int $id, string $name, string $kind, string $masked): string
{
    $kinds = ['live' => __('live', 'bookside'), 'test' => __('test', 'bookside')];
    $hint = implode(' · ', array_filter([$id, $kinds[$kind] ?? $kind, $masked]));
    return '<strong>' . esc_html($name) . '</strong><br><code>' . esc_html($hint) . '</code>';
}

function key_row(array $key): array
{
    $status = $key['status'];
    $states = ['active' => __('active', 'bookside'), 'expired' => __('expired', 'bookside'), 'revoked' => __('revoked', 'bookside')];
    $links = [];
    foreach (['restrict' => __('Change', 'bookside'), 'roll' => __('Roll', 'bookside'), 'revoke' => __('Revoke', 'bookside')] as $form => $text) {
        if ($form !== 'roll' || $status === 'active') {
            $links[page_url('keys', ['form' => $form, 'key' => $key['id']])] = $text;
        }
    }
    $limits = [];
    /* translators: %s: a number of requests. */
    $texts = ['per_minute' => __('%s a minute', 'bookside'), 'per_hour' => __('%s an hour', 'bookside')];
    foreach ($texts as $span => $text) {
        if ($key[$span] !== null) {
            $limits[] = esc_html(sprintf($text, number_format_i18n((int) $key[$span])));
        }
    }
    $ends = '';
    if ($status !== 'revoked' && $key['expires_at'] !== '') {
        /* translators: %s: a date. */
        $text = $status === 'expired' ? __('since %s', 'bookside') : __('until %s', 'bookside');
        $ends = '<br>' . esc_html(sprintf($text, local_time($key['expires_at'])));
    }
    return [
        'name' => key_name($key['id'], $key['name'], $key['kind'], $key['key']) . ($status === 'revoked' ? '' : row_actions($links, $key['name'])),
        'permissions' => implode('<br>', array_map('esc_html', array_merge(
            [implode(', ', array_map(__NAMESPACE__ . '\\permission_text', $key['permissions']))],
            limit_texts($key)
        ))),
        'networks' => $key['networks'] ? implode('<br>', array_map('esc_html', $key['networks'])) : esc_html__('any', 'bookside'),
        'requests' => $limits ? implode('<br>', $limits) : esc_html__('as configured', 'bookside'),
        'used' => esc_html(local_time($key['last_used_at']) ?: __('never', 'bookside')),
        'state' => state_text($status, $states[$status] ?? $status) . $ends,
    ];
}

/** Returns the form that the server has for something, as typed if it was sent; null, and why is shown, if there is none. */
function form_for(string $path): ?array
{
    $form = form_outcome()->form ?: ask_server($path);
    if (is_wp_error($form)) {
        show_problem($form);
        return null;
    }
    return $form;
}

/** Shows the form of a new key, or that of an existing one. */
function show_key_form(?object $key): void
{
    $form = form_for($key === null ? '/keys/new' : '/keys/' . (int) $key->id);
    if ($form === null) {
        return;
    }
    if ($key === null) {
        echo '<h2>' . esc_html__('New key', 'bookside') . '</h2>';
        begin_form('create');
    } else {
        /* translators: %s: the name of a key. */
        echo '<h2>' . esc_html(sprintf(__('Change the key %s', 'bookside'), $key->name)) . '</h2>';
        echo '<p>' . esc_html__('Changes take effect immediately; the key itself stays the same.', 'bookside') . '</p>';
        begin_form('restrict');
        hidden_field('key', (string) $key->id);
    }
    show_fields($form, $key === null);
    submit_row($key === null ? __('Create the key', 'bookside') : __('Change the key', 'bookside'));
}

/** Ends a form of a key. */
function submit_row(string $text, string $class = 'button-primary', string $back = 'keys'): void
{
    printf(
        '<p class="submit"><button type="submit" class="button %s">%s</button> <a class="button" href="%s">%s</a></p></form>',
        esc_attr($class),
        esc_html($text),
        esc_url(page_url($back)),
        esc_html__('Cancel', 'bookside')
    );
}

function show_roll_form(object $key): void
{
    $form = form_for('/keys/' . (int) $key->id . '/roll');
    if ($form === null) {
        return;
    }
    /* translators: %s: the name of a key. */
    echo '<h2>' . esc_html(sprintf(__('Roll the key %s', 'bookside'), $key->name)) . '</h2>';
    echo '<p>' . esc_html__('This creates a new key with the same terms. The old one stays valid for a while, so that its clients can change over.', 'bookside') . '</p>';
    begin_form('roll');
    hidden_field('key', (string) $key->id);
    show_fields($form);
    submit_row(__('Create the new key', 'bookside'));
}

function show_revoke_form(object $key): void
{
    /* translators: %s: the name of a key. */
    echo '<h2>' . esc_html(sprintf(__('Revoke the key %s?', 'bookside'), $key->name)) . '</h2>';
    echo '<p>' . esc_html(sprintf(
        /* translators: %s: a time, or "never". */
        __('Its clients are rejected at once, and it cannot be undone. It was last used: %s.', 'bookside'),
        local_time($key->last_used_at) ?: __('never', 'bookside')
    )) . '</p>';
    begin_form('revoke');
    hidden_field('key', (string) $key->id);
    submit_row(__('Revoke the key', 'bookside'), 'button-primary bookside-danger');
}
