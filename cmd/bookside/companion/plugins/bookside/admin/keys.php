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
    printf('<p><a href="%s" class="button button-primary">%s</a></p>', esc_url(page_url('keys', ['form' => 'create'])), esc_html__('New key', 'bookside'));
    $active = $ended = [];
    foreach (list_keys() as $key) {
        if (key_status($key) === 'active') {
            $active[] = key_row($key);
        } else {
            $ended[] = key_row($key);
        }
    }
    $columns = [
        'name' => __('Name', 'bookside'), 'permissions' => __('Permissions', 'bookside'), 'networks' => __('Networks', 'bookside'),
        'requests' => __('Requests', 'bookside'), 'used' => __('Last use', 'bookside'), 'state' => __('State', 'bookside'),
    ];
    show_table(__('Keys in use', 'bookside'), $columns, $active, __('No key is in use.', 'bookside'));
    if ($ended) {
        /* translators: %s: a number. */
        echo '<details class="bookside-more"><summary>' . esc_html(sprintf(__('Revoked and expired keys (%s)', 'bookside'), number_format_i18n(count($ended)))) . '</summary>';
        show_table(__('Revoked and expired keys', 'bookside'), $columns, $ended, '');
        echo '</details>';
    }
}

function key_row(object $key): array
{
    $id = (int) $key->id;
    $status = key_status($key);
    $states = ['active' => __('active', 'bookside'), 'expired' => __('expired', 'bookside'), 'revoked' => __('revoked', 'bookside')];
    $kinds = ['live' => __('live', 'bookside'), 'test' => __('test', 'bookside')];
    $links = [];
    foreach (['restrict' => __('Change', 'bookside'), 'roll' => __('Roll', 'bookside'), 'revoke' => __('Revoke', 'bookside')] as $form => $text) {
        if ($form !== 'roll' || $status === 'active') {
            $links[page_url('keys', ['form' => $form, 'key' => $id])] = $text;
        }
    }
    $limits = [];
    /* translators: %s: a number of requests. */
    $texts = ['requests_per_minute' => __('%s a minute', 'bookside'), 'requests_per_hour' => __('%s an hour', 'bookside')];
    foreach ($texts as $column => $text) {
        if ($key->$column !== null) {
            $limits[] = esc_html(sprintf($text, number_format_i18n((int) $key->$column)));
        }
    }
    $ends = '';
    if ($status !== 'revoked' && $key->expires_at !== null) {
        /* translators: %s: a date. */
        $text = $status === 'expired' ? __('since %s', 'bookside') : __('until %s', 'bookside');
        $ends = '<br>' . esc_html(sprintf($text, local_time($key->expires_at)));
    }
    $hint = $id . ' · ' . ($kinds[$key->kind] ?? $key->kind) . (masked_secret($key) === '' ? '' : ' · ' . masked_secret($key));
    return [
        'name' => '<strong>' . esc_html($key->name) . '</strong><br><code>' . esc_html($hint) . '</code>' . ($status === 'revoked' ? '' : row_actions($links, $key->name)),
        'permissions' => implode('<br>', array_map('esc_html', array_merge(
            [implode(', ', array_map(__NAMESPACE__ . '\\permission_text', explode(',', $key->permissions)))],
            limit_texts($key)
        ))),
        'networks' => $key->networks === '' ? esc_html__('any', 'bookside') : implode('<br>', array_map('esc_html', explode(',', shown_networks($key->networks)))),
        'requests' => $limits ? implode('<br>', $limits) : esc_html__('as configured', 'bookside'),
        'used' => esc_html(local_time($key->last_used_at) ?: __('never', 'bookside')),
        'state' => state_text($status, $states[$status]) . $ends,
    ];
}

/** Returns networks as people write them: an address without its bits. */
function shown_networks(string $networks): string
{
    return (string) preg_replace('#(?<=^|,)([0-9.]+)/32(?=,|$)|(?<=^|,)([0-9a-f:.]+)/128(?=,|$)#', '$1$2', $networks);
}

/** Returns the terms of a key as its form shows them. */
function stored_terms(object $key): array
{
    return [
        'name' => $key->name, 'permissions' => explode(',', $key->permissions), 'networks' => str_replace(',', "\n", shown_networks($key->networks)),
        'expires' => $key->expires_at === null ? '' : gmdate('Y-m-d', (int) strtotime($key->expires_at . ' UTC') - 1),
        'per_minute' => (string) $key->requests_per_minute, 'per_hour' => (string) $key->requests_per_hour,
    ] + stored_limits($key);
}

/** Returns what a key is limited to, as its form shows it. */
function stored_limits(object $key): array
{
    $limits = [];
    foreach (limit_columns() as $column) {
        $limits[$column] = $column === 'mask_personal' && !$key->$column ? '' : (string) $key->$column;
    }
    return $limits;
}

/** Returns a hash of the terms, so that a form does not overwrite what somebody else has changed. */
function terms_version(object $key): string
{
    return hash('sha256', (string) wp_json_encode([stored_terms($key), $key->expires_at]));
}

/** Shows the form of a new key, or that of an existing one. */
function show_key_form(?object $key): void
{
    $empty = ['name' => '', 'kind' => 'live', 'permissions' => [], 'networks' => '', 'expires' => '', 'per_minute' => '', 'per_hour' => '']
        + array_fill_keys(limit_columns(), '');
    $terms = array_merge($key === null ? $empty : stored_terms($key), form_outcome()->typed);
    if ($key === null) {
        echo '<h2>' . esc_html__('New key', 'bookside') . '</h2>';
        begin_form('create');
        hidden_field('form', wp_generate_uuid4());
    } else {
        /* translators: %s: the name of a key. */
        echo '<h2>' . esc_html(sprintf(__('Change the key %s', 'bookside'), $key->name)) . '</h2>';
        echo '<p>' . esc_html__('Changes take effect immediately; the key itself stays the same.', 'bookside') . '</p>';
        begin_form('restrict');
        hidden_field('key', (string) $key->id);
        hidden_field('version', terms_version($key));
    }
    echo '<table class="form-table" role="presentation">';
    text_field('name', __('Name', 'bookside'), __('Distinguishes this key from others: an app, a till, a partner.', 'bookside'), $terms['name']);
    if ($key === null) {
        show_kinds($terms['kind']);
    }
    show_permissions($terms['permissions'], $key === null);
    begin_field('networks', __('Networks', 'bookside'));
    printf(
        '<textarea class="regular-text code" rows="3" id="bookside-networks" name="networks" spellcheck="false" autocapitalize="none"%s>%s</textarea>',
        described_by('networks'), // escaped there
        esc_textarea($terms['networks'])
    );
    end_field('networks', __('The key is accepted only from these networks or addresses, one per line, such as 192.0.2.0/24. Leave it empty for any.', 'bookside'));
    if (limit_columns()) {
        show_limits($terms);
    }
    text_field('expires', __('Last day', 'bookside'), __('The key expires at the end of this day (UTC). Leave it empty for never.', 'bookside'), $terms['expires'], 'date', '');
    $limit = __('Leave it empty for the configured limit.', 'bookside');
    text_field('per_minute', __('Requests per minute', 'bookside'), $limit, $terms['per_minute'], 'text', 'bookside-number');
    text_field('per_hour', __('Requests per hour', 'bookside'), $limit, $terms['per_hour'], 'text', 'bookside-number');
    echo '</table>';
    submit_row($key === null ? __('Create the key', 'bookside') : __('Change the key', 'bookside'));
}

/** Shows the fields of what a key is limited to. */
function show_limits(array $terms): void
{
    $hint = __('Ids or names, separated by commas: the key sees only bookings with these agents, their customers and orders, and writes nothing else. Leave it empty for all.', 'bookside');
    text_field('agents', __('Agents', 'bookside'), $hint, $terms['agents']);
    text_field('services', __('Services', 'bookside'), __('The same for services. All that is named must hold.', 'bookside'), $terms['services']);
    text_field('locations', __('Locations', 'bookside'), __('The same for locations.', 'bookside'), $terms['locations']);
    begin_field('mask_personal', __('Mask personal data', 'bookside'));
    printf(
        '<input type="checkbox" id="bookside-mask_personal" name="mask_personal" value="1"%s%s>',
        checked($terms['mask_personal'] !== '', true, false),
        described_by('mask_personal') // escaped there
    );
    end_field('mask_personal', __('Hides e-mail addresses, phone numbers, addresses and notes; the key can neither search nor write them.', 'bookside'));
}

/** Ends a form of a key. */
function submit_row(string $text, string $class = 'button-primary'): void
{
    printf(
        '<p class="submit"><button type="submit" class="button %s">%s</button> <a class="button" href="%s">%s</a></p></form>',
        esc_attr($class),
        esc_html($text),
        esc_url(page_url('keys')),
        esc_html__('Cancel', 'bookside')
    );
}

function show_kinds(string $chosen): void
{
    echo '<tr><th scope="row">' . esc_html__('Kind', 'bookside') . '</th><td><fieldset id="bookside-kind"><legend class="screen-reader-text">';
    echo esc_html__('Kind', 'bookside') . '</legend>';
    foreach (['live' => __('live', 'bookside'), 'test' => __('test, with separate limits', 'bookside')] as $kind => $text) {
        printf('<label><input type="radio" name="kind" value="%s"%s> %s</label><br>', esc_attr($kind), checked($kind, $chosen, false), esc_html($text));
    }
    echo '</fieldset></td></tr>';
}

/** Shows the presets and the table of permissions. */
function show_permissions(array $chosen, bool $presets): void
{
    if ($presets) {
        begin_field('preset', __('Purpose', 'bookside'));
        echo '<select id="bookside-preset" name="preset" aria-describedby="bookside-preset-hint"><option value="">' . esc_html__('Choose the permissions below', 'bookside') . '</option>';
        foreach (permission_presets() as $id => [$label, $permissions]) {
            printf('<option value="%s" data-permissions="%s">%s</option>', esc_attr($id), esc_attr(implode(',', $permissions)), esc_html($label));
        }
        echo '</select>';
        end_field('preset', __('A purpose ticks the permissions that it usually needs.', 'bookside'));
    }
    echo '<tr><th scope="row">' . esc_html__('Permissions', 'bookside') . '</th><td><fieldset id="bookside-permissions" tabindex="-1"><legend class="screen-reader-text">';
    echo esc_html__('Permissions', 'bookside') . '</legend><table class="bookside-permissions"><thead><tr><td></td>';
    foreach (PERMISSION_VERBS as $verb) {
        printf('<th scope="col">%s</th>', esc_html(permission_verb($verb)));
    }
    echo '</tr></thead><tbody>';
    $named = array_map(fn($permission) => explode('_', $permission, 2)[1], NAMED_PERMISSIONS);
    foreach (array_merge([''], PERMISSION_RESOURCES, $named) as $resource) {
        printf('<tr><th scope="row">%s</th>', esc_html(resource_text($resource)));
        foreach (PERMISSION_VERBS as $verb) {
            $permission = $resource === '' ? $verb : $verb . '_' . $resource;
            echo '<td>';
            if (in_array($permission, all_permissions(), true)) {
                printf(
                    '<label><input type="checkbox" name="permissions[]" value="%s"%s><span class="screen-reader-text">%s</span></label>',
                    esc_attr($permission),
                    checked(in_array($permission, $chosen, true), true, false),
                    esc_html(permission_text($permission))
                );
            }
            echo '</td>';
        }
        echo '</tr>';
    }
    echo '</tbody></table></fieldset>';
    end_field('permissions', __('A box in the row "everything" covers all rows below it except changes, users and webhooks.', 'bookside'));
}

function permission_verb(string $verb): string
{
    $verbs = ['read' => __('read', 'bookside'), 'write' => __('write', 'bookside'), 'delete' => __('delete', 'bookside')];
    return $verbs[$verb];
}

function show_roll_form(object $key): void
{
    /* translators: %s: the name of a key. */
    echo '<h2>' . esc_html(sprintf(__('Roll the key %s', 'bookside'), $key->name)) . '</h2>';
    echo '<p>' . esc_html__('This makes a new key with the same terms. The old one stays valid for a while, so that its clients can change over.', 'bookside') . '</p>';
    begin_form('roll');
    hidden_field('form', wp_generate_uuid4());
    hidden_field('key', (string) $key->id);
    echo '<table class="form-table" role="presentation">';
    begin_field('hours', __('The old key is valid for', 'bookside'));
    echo '<select id="bookside-hours" name="hours" aria-describedby="bookside-hours-hint">';
    $spans = [24 => __('one day', 'bookside'), 168 => __('one week', 'bookside'), 1 => __('one hour', 'bookside'), 0 => __('no longer: revoke it now', 'bookside')];
    foreach ($spans as $hours => $text) {
        printf('<option value="%d">%s</option>', (int) $hours, esc_html($text));
    }
    echo '</select>';
    end_field('hours', __('If the key may be in the wrong hands, revoke it now.', 'bookside'));
    echo '</table>';
    submit_row(__('Make the new key', 'bookside'));
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
