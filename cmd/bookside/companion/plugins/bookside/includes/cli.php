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
     * [--agents=<ids>]
     * : Limits the key to bookings with these agents, such as 3,4, or any.
     *
     * [--services=<ids>]
     * : The same for services.
     *
     * [--locations=<ids>]
     * : The same for locations.
     *
     * [--mask_personal]
     * : Masks e-mail addresses, phone numbers, addresses and notes; --no-mask_personal shows them.
     *
     * [--hours=<hours>]
     * : How long a rolled key stays valid; 24 if it is not given.
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
                $this->done(restrict_key($this->id($arguments), $this->terms($options)), 'Changed.');
                return;
            case 'roll':
                $this->show(roll_key(find_key($this->id($arguments)), (int) ($options['hours'] ?? 24)));
                return;
            case 'revoke':
                $this->done(revoke_key($this->id($arguments)), 'Revoked.');
                return;
            default:
                \WP_CLI::error('Write list, create, restrict, roll or revoke.');
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

    /** Returns the terms that the options name. */
    private function terms(array $options): array
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
        foreach ($errors->get_error_codes() as $field) {
            \WP_CLI::error($field . ': ' . $errors->get_error_message($field));
        }
        return $columns;
    }

    private function id(array $arguments): int
    {
        $key = find_key((int) ($arguments[1] ?? 0));
        if ($key === null) {
            \WP_CLI::error('There is no such key; see wp bookside keys list.');
        }
        if (key_status($key) === 'revoked') {
            \WP_CLI::error('This key is revoked.');
        }
        return (int) $key->id;
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
