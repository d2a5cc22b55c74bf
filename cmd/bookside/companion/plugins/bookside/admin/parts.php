<?php

/**
 * Parts of pages, in WordPress's own look.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/** Begins a form that does $action and stays on this page. */
function begin_form(string $action): void
{
    echo '<form method="post" autocomplete="off" novalidate>';
    wp_nonce_field('bookside_' . $action, 'bookside_nonce');
    hidden_field('bookside_action', $action);
}

function hidden_field(string $name, string $value): void
{
    printf('<input type="hidden" name="%s" value="%s">', esc_attr($name), esc_attr($value));
}

/** Begins a row of a form table; its control has the id bookside-$field. */
function begin_field(string $field, string $label): void
{
    printf('<tr><th scope="row"><label for="bookside-%s">%s</label></th><td>', esc_attr($field), esc_html($label));
}

function end_field(string $field, string $hint): void
{
    $error = form_outcome()->errors->get_error_message($field);
    if ($error !== '') {
        printf('<p class="bookside-error" id="bookside-%s-error">%s</p>', esc_attr($field), esc_html($error));
    }
    if ($hint !== '') {
        printf('<p class="description" id="bookside-%s-hint">%s</p>', esc_attr($field), esc_html($hint));
    }
    echo '</td></tr>';
}

/** Shows a field of one line. */
function text_field(string $field, string $label, string $hint, string $value, string $type = 'text', string $class = 'regular-text'): void
{
    begin_field($field, $label);
    printf(
        '<input type="%s" class="%s" id="bookside-%s" name="%s" value="%s"%s>',
        esc_attr($type),
        esc_attr($class),
        esc_attr($field),
        esc_attr($field),
        esc_attr($value),
        described_by($field) // escaped there
    );
    end_field($field, $hint);
}

/**
 * Shows the fields of a form of the server.
 *
 * @param bool $presets Whether sets of permissions are offered.
 */
function show_fields(array $form, bool $presets = false): void
{
    hidden_field('nonce', $form['nonce']);
    hidden_field('version', $form['version']);
    echo '<table class="form-table" role="presentation">';
    foreach ($form['fields'] as $field) {
        [$name, $label, $hint, $value] = [$field['name'], said($field['label']), said($field['hint']), $field['value']];
        switch ($field['type']) {
            case 'permissions':
                show_permissions($field, $presets);
                break;
            case 'choices':
                begin_fieldset($name, $label);
                foreach ($field['choices'] as $choice) {
                    printf('<label><input type="radio" name="%s" value="%s"%s> %s</label><br>', esc_attr($name), esc_attr($choice['value']), checked($choice['value'], $value, false), esc_html(said($choice['text'])));
                }
                echo '</fieldset>';
                end_field($name, $hint);
                break;
            case 'boxes':
                begin_fieldset($name, $label);
                printf('<input type="hidden" name="%s[]" value="-"><div class="bookside-boxes">', esc_attr($name)); // sent even if no box is ticked
                $ticked = explode(',', $value);
                foreach ($field['choices'] as $i => $choice) {
                    $text = $i === 0 ? said($choice['text']) : $choice['text']; // all, and names
                    printf('<label><input type="checkbox" name="%s[]" value="%s"%s> %s</label>', esc_attr($name), esc_attr($choice['value']), checked(in_array($choice['value'], $ticked, true), true, false), esc_html($text));
                }
                echo '</div></fieldset>';
                end_field($name, $hint);
                break;
            case 'lines':
                begin_field($name, $label);
                printf(
                    '<textarea class="regular-text code" rows="3" id="bookside-%s" name="%s" spellcheck="false" autocapitalize="none"%s>%s</textarea>',
                    esc_attr($name),
                    esc_attr($name),
                    described_by($name), // escaped there
                    esc_textarea($value)
                );
                end_field($name, $hint);
                break;
            case 'box':
                switch_field($name, $label, $hint, '', $value !== '');
                break;
            default:
                text_field($name, $label, $hint, $value, $field['type'] === 'date' ? 'date' : 'text', $field['type'] === 'date' ? '' : 'regular-text');
        }
    }
    echo '</table>';
}

/** Begins a row of a form table with several controls. */
function begin_fieldset(string $field, string $label): void
{
    printf('<tr><th scope="row">%s</th><td><fieldset id="bookside-%s" tabindex="-1"><legend class="screen-reader-text">%s</legend>', esc_html($label), esc_attr($field), esc_html($label));
}

/** Shows the presets and the table of permissions. */
function show_permissions(array $field, bool $presets): void
{
    if ($presets) {
        begin_field('preset', __('Purpose', 'bookside'));
        echo '<select id="bookside-preset" name="preset" aria-describedby="bookside-preset-hint"><option value="">' . esc_html__('Choose the permissions below', 'bookside') . '</option>';
        foreach ($field['presets'] as $preset) {
            printf(
                '<option value="%s" data-permissions="%s">%s</option>',
                esc_attr($preset['name']),
                esc_attr(implode(',', $preset['permissions'])),
                esc_html(said($preset['name']) . ': ' . said($preset['hint']))
            );
        }
        echo '</select>';
        end_field('preset', __('A purpose ticks the permissions that it usually needs.', 'bookside'));
    }
    begin_fieldset('permissions', said($field['label']));
    echo '<table class="bookside-permissions"><thead><tr><td></td>';
    foreach ($field['verbs'] as $verb) {
        printf('<th scope="col">%s</th>', esc_html(verb_text($verb)));
    }
    echo '</tr></thead><tbody>';
    foreach ($field['rows'] as $row) {
        printf('<tr><th scope="row">%s</th>', esc_html(resource_text($row['resource'])));
        foreach ($row['cells'] as $cell) {
            $box = $cell['value'] === '' ? '' : sprintf(
                '<label><input type="checkbox" name="permissions[]" value="%s"%s><span class="screen-reader-text">%s</span></label>',
                esc_attr($cell['value']),
                checked($cell['checked'], true, false),
                esc_html(permission_text($cell['value']))
            );
            echo '<td>' . $box . '</td>'; // escaped above
        }
        echo '</tr>';
    }
    echo '</tbody></table></fieldset>';
    end_field('permissions', said($field['hint']));
}

/** Says that the server could not be asked, and why, or that it does not have what was asked for. */
function show_problem(\WP_Error $problem): void
{
    if ($problem->get_error_code() === 'bookside_404') {
        show_warning($problem->get_error_message());
        return;
    }
    printf(
        '<div class="notice notice-warning inline" role="status"><p><strong>%s</strong> %s</p></div>',
        esc_html__('The server of the booking API does not do this at the moment.', 'bookside'),
        esc_html($problem->get_error_message())
    );
}

function show_warning(string $text): void
{
    printf('<div class="notice notice-warning inline" role="status"><p>%s</p></div>', esc_html($text));
}

/** Begins a form that asks for a tab of the page. It changes nothing. */
function begin_question(string $tab): void
{
    printf('<form method="get" action="%s" class="bookside-question" role="search">', esc_url(admin_url('admin.php')));
    hidden_field('page', 'bookside');
    hidden_field('tab', $tab);
}

function end_question(string $button): void
{
    printf('<p><button type="submit" class="button">%s</button></p></form>', esc_html($button));
}

/**
 * Shows a list to choose from in a question.
 *
 * @param array<int|string,string> $choices Texts by value.
 * @param int|string               $value   The chosen one.
 */
function choice_field(string $field, string $label, array $choices, $value): void
{
    printf('<p><label for="bookside-%1$s">%2$s</label><select id="bookside-%1$s" name="%1$s">', esc_attr($field), esc_html($label));
    foreach ($choices as $choice => $text) {
        printf('<option value="%s"%s>%s</option>', esc_attr((string) $choice), selected((string) $choice, (string) $value, false), esc_html($text));
    }
    echo '</select></p>';
}

/** Returns the attributes that connect a control with its hint and its error, escaped. */
function described_by(string $field, bool $hinted = true): string
{
    $invalid = form_outcome()->errors->get_error_message($field) !== '';
    $ids = ($invalid ? 'bookside-' . $field . '-error ' : '') . ($hinted ? 'bookside-' . $field . '-hint' : '');
    return ($ids === '' ? '' : ' aria-describedby="' . esc_attr(trim($ids)) . '"') . ($invalid ? ' aria-invalid="true"' : '');
}

/** Shows a text that can be copied. */
function copy_field(string $id, string $label, string $text, bool $focus = false): void
{
    printf(
        '<p class="bookside-copy"><label class="screen-reader-text" for="%1$s">%2$s</label><input type="text" readonly class="code" id="%1$s" value="%3$s"%4$s>'
        . ' <button type="button" class="button" data-bookside-copy="%1$s">%5$s<span class="screen-reader-text"> %2$s</span></button></p>',
        esc_attr($id),
        esc_html($label),
        esc_attr($text),
        $focus ? ' autofocus' : '',
        esc_html__('Copy', 'bookside')
    );
}

/**
 * Shows a table as WordPress does: on a phone, only the first column until a row is opened.
 *
 * @param array<string,string> $columns Heads by name.
 * @param array[]              $rows    Cells by name, as escaped HTML.
 */
function show_table(string $caption, array $columns, array $rows, string $empty): void
{
    if (!$rows) {
        echo '<p>' . esc_html($empty) . '</p>';
        return;
    }
    $first = array_key_first($columns);
    echo '<table class="wp-list-table widefat striped"><caption class="screen-reader-text">' . esc_html($caption) . '</caption><thead><tr>';
    foreach ($columns as $name => $head) {
        printf('<th scope="col" class="manage-column column-%s%s">%s</th>', esc_attr($name), $name === $first ? ' column-primary' : '', esc_html($head));
    }
    echo '</tr></thead><tbody>';
    foreach ($rows as $row) {
        echo '<tr>';
        foreach ($columns as $name => $head) {
            if ($name === $first) {
                // Without data-colname, which WordPress 7.1 writes over the content on a phone.
                printf(
                    '<td class="column-primary column-%s">%s<button type="button" class="toggle-row"><span class="screen-reader-text">%s</span></button></td>',
                    esc_attr($name),
                    wp_kses_post($row[$name]),
                    esc_html__('Show more details', 'bookside')
                );
                continue;
            }
            printf('<td class="column-%s" data-colname="%s">%s</td>', esc_attr($name), esc_attr($head), wp_kses_post($row[$name]));
        }
        echo '</tr>';
    }
    echo '</tbody></table>';
}

/** Returns links as row actions, escaped: texts by address. */
function row_actions(array $links, string $about): string
{
    $actions = [];
    foreach ($links as $url => $text) {
        $actions[] = sprintf('<a href="%s">%s<span class="screen-reader-text"> %s</span></a>', esc_url($url), esc_html($text), esc_html($about));
    }
    return '<div class="row-actions visible">' . implode(' | ', $actions) . '</div>';
}

/** Returns a state as a word with a color, escaped. */
function state_text(string $class, string $text): string
{
    return sprintf('<span class="bookside-state bookside-%s">%s</span>', esc_attr($class), esc_html($text));
}

/** Returns a booking with a link to LatePoint's list that shows it, escaped. */
function booking_link(array $booking): string
{
    return sprintf(
        '<a href="%s">%s</a><br>%s',
        esc_url(record_url('bookings', $booking['id'])),
        esc_html(booking_time($booking)),
        esc_html(implode(', ', array_filter([$booking['service'], $booking['customer'], $booking['code']])))
    );
}

/** Returns when a booking takes place, as the site shows dates. */
function booking_time(array $booking): string
{
    $day = (string) wp_date(get_option('date_format'), (int) strtotime($booking['date'] . ' 12:00:00 UTC'), new \DateTimeZone('UTC'));
    return $day . ', ' . clock_text($booking['start']) . '–' . clock_text($booking['end']);
}

/** Returns a time of the day, in minutes since midnight, as the site shows times, on one line. */
function clock_text(int $minutes): string
{
    return str_replace(' ', "\u{a0}", gmdate((string) get_option('time_format'), ($minutes % 1440) * 60));
}
