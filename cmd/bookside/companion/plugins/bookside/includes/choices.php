<?php

/**
 * Agents, services and locations, by the ids and the names that people write.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/** How many of them a message lists. */
const MOST_LISTED = 30;

/**
 * Returns the names of all agents, services or locations, as they are for this request.
 *
 * @param string $of agents, services or locations.
 * @return array<int,string> By id.
 */
function choices(string $of): array
{
    global $wpdb;
    static $known = [];
    $table = platform_table($of);
    if (!isset($known[$table])) {
        $known[$table] = [];
        $name = $of === 'agents' ? "CONCAT_WS(' ', first_name, last_name)" : 'name';
        foreach (has_table($table) ? $wpdb->get_results("SELECT id, $name AS name FROM $table ORDER BY id") : [] as $row) {
            $known[$table][(int) $row->id] = trim((string) $row->name);
        }
    }
    return $known[$table];
}

/** Returns ids, as a column has them, with their names; without a name those of which there is none. */
function choices_text(string $of, string $ids): string
{
    $all = choices($of);
    return implode(', ', array_map(fn($id) => trim($id . ' ' . ($all[(int) $id] ?? '')), explode(',', $ids)));
}

/** Returns ids or names, separated by commas, as the column has them, or a WP_Error that lists what there is. '' is all. */
function parse_choices(string $of, $text)
{
    $text = trim((string) $text);
    if ($text === '') {
        return '';
    }
    $all = choices($of);
    $words = choices_named($all, $text) ? [$text] : array_map('trim', explode(',', $text)); // a name may have a comma
    $ids = [];
    foreach ($words as $word) {
        if ($word === '' || (preg_match('/^[+-]?[0-9]+$/', $word) && is_wp_error(parse_ids($word)))) {
            return parse_ids($word === '' ? ',' : $word); // which says what to write
        }
        $id = ctype_digit($word) && isset($all[(int) $word]) ? (int) $word : 0;
        $found = $id !== 0 ? [$id => $all[$id]] : choices_named($all, $word);
        if (count($found) === 1) {
            $ids[] = array_key_first($found);
            continue;
        }
        if ($found) {
            /* translators: 1: a name. 2: ids with names. */
            return new \WP_Error('ids', sprintf(__('Several have the name "%1$s". Write the id of one: %2$s.', 'bookside'), $word, listed_choices($found)));
        }
        /* translators: %s: an id or a name. */
        $message = sprintf(__('There is none with the id or name "%s".', 'bookside'), $word);
        /* translators: %s: ids with names. */
        return new \WP_Error('ids', $message . ' ' . ($all ? sprintf(__('There are: %s.', 'bookside'), listed_choices($all)) : __('There are none at all.', 'bookside')));
    }
    return parse_ids(implode(',', $ids));
}

/**
 * Returns those with a name, in any letter case.
 *
 * @param array<int,string> $all
 * @return array<int,string>
 */
function choices_named(array $all, string $word): array
{
    return array_filter($all, fn($name) => $name !== '' && (strcasecmp($name, $word) === 0 || preg_match('/^' . preg_quote($name, '/') . '$/iuD', $word)));
}

/** @param array<int,string> $choices */
function listed_choices(array $choices): string
{
    $texts = array_map(fn($id, $name) => trim($id . ' ' . $name), array_keys($choices), $choices);
    $more = count($texts) - MOST_LISTED;
    if ($more > 0) {
        $texts = array_slice($texts, 0, MOST_LISTED);
        /* translators: %s: a number. */
        $texts[] = sprintf(__('and %s more', 'bookside'), number_format_i18n($more));
    }
    return implode(', ', $texts);
}

function parse_agents($text)
{
    return parse_choices('agents', $text);
}

function parse_services($text)
{
    return parse_choices('services', $text);
}

function parse_locations($text)
{
    return parse_choices('locations', $text);
}
