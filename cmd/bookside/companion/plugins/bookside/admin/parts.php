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
    printf('<p class="description" id="bookside-%s-hint">%s</p></td></tr>', esc_attr($field), esc_html($hint));
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

/** Returns the attributes that connect a control with its hint and its error, escaped. */
function described_by(string $field): string
{
    $invalid = form_outcome()->errors->get_error_message($field) !== '';
    $ids = ($invalid ? 'bookside-' . $field . '-error ' : '') . 'bookside-' . $field . '-hint';
    return ' aria-describedby="' . esc_attr($ids) . '"' . ($invalid ? ' aria-invalid="true"' : '');
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
                printf(
                    '<td class="column-primary column-%s" data-colname="%s">%s<button type="button" class="toggle-row"><span class="screen-reader-text">%s</span></button></td>',
                    esc_attr($name),
                    esc_attr($head),
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
