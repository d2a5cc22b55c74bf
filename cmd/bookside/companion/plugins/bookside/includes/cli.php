<?php

/**
 * WP-CLI: wp bookside status, keys and changes.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/** Status, keys and changes of the booking API. */
class Command
{
    /** Words for the actions of keys, as of "bookside keys". */
    private const SYNONYMS = [
        'list' => ['ls', 'show', 'get'],
        'create' => ['add', 'new', 'make', 'generate', 'issue'],
        'restrict' => ['edit', 'update', 'change', 'set', 'modify'],
        'roll' => ['rotate', 'renew', 'replace'],
        'revoke' => ['delete', 'remove', 'rm', 'del'],
    ];

    /**
     * Says whether everything works, and what to do if not.
     *
     * ## OPTIONS
     *
     * [--format=<format>]
     * : table, json, csv or yaml.
     */
    public function status(array $arguments, array $options): void
    {
        $rows = [];
        $bad = false;
        foreach (checks() as $id => $run) {
            $check = $run();
            $bad = $bad || $check['state'] === 'critical';
            $rows[] = ['check' => $id, 'state' => $check['state'], 'result' => $check['label'], 'what to do' => $check['state'] === 'good' ? '' : $check['text']];
        }
        \WP_CLI\Utils\format_items($options['format'] ?? 'table', $rows, ['check', 'state', 'result', 'what to do']);
        if ($bad) {
            \WP_CLI::halt(1);
        }
    }

    /**
     * Lists, creates, restricts, rolls and revokes API keys.
     *
     * ## OPTIONS
     *
     * <action>
     * : list, create, restrict, roll or revoke.
     *
     * [<id>]
     * : The key to restrict, roll or revoke.
     *
     * [--name=<name>]
     * : Name of the key.
     *
     * [--permissions=<list>]
     * : Such as read,write_bookings.
     *
     * [--kind=<kind>]
     * : live or test.
     *
     * [--networks=<list>]
     * : Networks from which the key is accepted, or any.
     *
     * [--expires=<day>]
     * : The last day of the key, such as 2027-01-31, or never.
     *
     * [--agents=<list>]
     * : Limits the key to bookings with these agents: ids or names, such as 3,Ada, or any.
     *
     * [--services=<list>]
     * : The same for services.
     *
     * [--locations=<list>]
     * : The same for locations.
     *
     * [--mask_personal]
     * : Masks e-mail addresses, phone numbers, addresses and notes; --no-mask_personal shows them.
     *
     * [--hours=<hours>]
     * : How long a rolled key stays valid, 0 to 720; 24 if it is not given.
     *
     * [--format=<format>]
     * : table, json, csv or yaml.
     */
    public function keys(array $arguments, array $options): void
    {
        $action = $arguments[0] ?? 'list';
        switch ($action) {
            case 'list':
                $this->list($options);
                return;
            case 'create':
                $this->show(create_key($this->terms($options + ['name' => '', 'permissions' => '', 'kind' => 'live'])));
                return;
            case 'restrict':
                $columns = $this->terms($options, $this->idProblem($arguments));
                if (!$columns) {
                    \WP_CLI::error('Name what to change, such as --permissions=read; see wp help bookside keys.');
                }
                $this->done(restrict_key((int) $arguments[1], $columns), 'Changed.');
                return;
            case 'roll':
                $hours = (string) ($options['hours'] ?? 24);
                $this->fail([$this->idProblem($arguments), preg_match('/^[0-9]{1,3}$/D', $hours) && $hours <= 720 ? '' : '--hours: Write a number from 0 to 720.']);
                $this->show(roll_key(find_key((int) $arguments[1]), (int) $hours));
                return;
            case 'revoke':
                $this->fail([$this->idProblem($arguments)]);
                $this->done(revoke_key((int) $arguments[1]), 'Revoked.');
                return;
            default:
                $meant = closest_word($action, array_keys(self::SYNONYMS));
                foreach (self::SYNONYMS as $name => $words) {
                    $meant = in_array(strtolower($action), $words, true) ? $name : $meant;
                }
                \WP_CLI::error("There is no action \"$action\"" . ($meant === '' ? '. Write list, create, restrict, roll or revoke.' : "; did you mean $meant?"));
        }
    }

    /**
     * Shows the changes of the last day, the newest first.
     *
     * ## OPTIONS
     *
     * [--limit=<number>]
     * : How many; 100 if it is not given.
     *
     * [--format=<format>]
     * : table, json, csv or yaml.
     */
    public function changes(array $arguments, array $options): void
    {
        $changes = list_changes(0, max(1, min(1000, (int) ($options['limit'] ?? SHOWN_CHANGES))));
        $authors = change_authors($changes);
        $rows = [];
        foreach ($changes as $change) {
            $rows[] = [
                'number' => $change->number, 'at (UTC)' => $change->at, 'record' => $change->resource . ' ' . $change->resource_id,
                'change' => change_text($change), 'by' => $authors[(int) $change->number],
            ];
        }
        \WP_CLI\Utils\format_items($options['format'] ?? 'table', $rows, ['number', 'at (UTC)', 'record', 'change', 'by']);
    }

    private function list(array $options): void
    {
        $rows = [];
        foreach (list_keys() as $key) {
            $rows[] = [
                'id' => $key->id, 'name' => $key->name, 'kind' => $key->kind, 'key' => masked_secret($key), 'status' => key_status($key),
                'permissions' => $key->permissions, 'limited to' => implode('; ', limit_texts($key)), 'networks' => $key->networks ?: 'any', 'expires (UTC)' => $key->expires_at ?: 'never',
                'last used (UTC)' => $key->last_used_at ?: 'never',
            ];
        }
        $columns = ['id', 'name', 'kind', 'key', 'status', 'permissions', 'limited to', 'networks', 'expires (UTC)', 'last used (UTC)'];
        \WP_CLI\Utils\format_items($options['format'] ?? 'table', $rows, $columns);
    }

    /** Returns the terms that the options name. Fails with all that is wrong with them, after an earlier problem, '' for none. */
    private function terms(array $options, string $problem = ''): array
    {
        $typed = array_intersect_key($options, array_flip(array_merge(['name', 'kind', 'permissions', 'networks', 'expires'], limit_columns())));
        if (isset($typed['permissions'])) {
            $typed['permissions'] = preg_split('/[\s,]+/', (string) $typed['permissions'], -1, PREG_SPLIT_NO_EMPTY);
        }
        foreach (['networks', 'agents', 'services', 'locations'] as $field) {
            if (($typed[$field] ?? '') === 'any') {
                $typed[$field] = '';
            }
        }
        if (($typed['expires'] ?? '') === 'never') {
            $typed['expires'] = '';
        }
        $errors = new \WP_Error();
        $columns = parse_terms($typed, $errors);
        $problems = [$problem];
        foreach ($errors->get_error_codes() as $field) {
            $problems[] = '--' . $field . ': ' . $errors->get_error_message($field);
        }
        $this->fail($problems);
        return $columns;
    }

    /** Fails with all problems that there are. */
    private function fail(array $problems): void
    {
        $problems = array_filter($problems);
        if ($problems) {
            \WP_CLI::error(implode(' ', $problems));
        }
    }

    /** Returns what is wrong with the id of a key, '' for nothing. */
    private function idProblem(array $arguments): string
    {
        $id = (string) ($arguments[1] ?? '');
        $key = ctype_digit($id) ? find_key((int) $id) : null;
        if ($key === null) {
            return $id === '' ? 'Name the key by its id; see wp bookside keys list.' : "There is no key $id; see wp bookside keys list.";
        }
        return key_status($key) === 'revoked' ? 'This key is revoked.' : '';
    }

    /** @param array|\WP_Error $created What create_key returned. */
    private function show($created): void
    {
        if (is_wp_error($created)) {
            \WP_CLI::error($created->get_error_message());
        }
        \WP_CLI::line($created[0]);
        \WP_CLI::log(sprintf('This is key %d. It is shown only once: only a hash of it is stored.', $created[1]));
    }

    /** @param true|\WP_Error $result What a change returned. */
    private function done($result, string $text): void
    {
        if (is_wp_error($result)) {
            \WP_CLI::error($result->get_error_message());
        }
        \WP_CLI::success($text);
    }
}
