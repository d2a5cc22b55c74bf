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
                $this->show(make_key($this->typed($options) + ['name' => '', 'permissions' => '', 'kind' => 'live', 'nonce' => wp_generate_uuid4()]));
                return;
            case 'restrict':
                $this->fail([$this->idProblem($arguments)]);
                $this->restrict((int) $arguments[1], $this->typed($options));
                return;
            case 'roll':
                $hours = (string) ($options['hours'] ?? 24);
                $this->fail([$this->idProblem($arguments), preg_match('/^[0-9]{1,3}$/D', $hours) && $hours <= 720 ? '' : '--hours: Write a number from 0 to 720.']);
                $this->show(make_key(['overlap' => $hours . 'h', 'nonce' => wp_generate_uuid4()], (int) $arguments[1]));
                return;
            case 'revoke':
                $this->fail([$this->idProblem($arguments)]);
                $revoked = revoke_key((int) $arguments[1]);
                $this->fail(is_wp_error($revoked) ? [$revoked->get_error_message()] : []);
                \WP_CLI::success('Revoked.');
                return;
            default:
                $meant = $this->closest($action);
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
        $rows = [];
        $limit = max(1, min(1000, (int) ($options['limit'] ?? SHOWN_CHANGES)));
        for ($before = 0; count($rows) < $limit; $before = (int) end($changes)['number']) {
            $changes = list_changes($before);
            $this->fail(is_wp_error($changes) ? [$changes->get_error_message()] : []);
            $authors = change_authors($changes);
            foreach ($changes as $change) {
                $rows[] = [
                    'number' => $change['number'], 'at (UTC)' => $change['at'], 'record' => $change['resource'] . ' ' . $change['resource_id'],
                    'change' => change_text($change), 'by' => $authors[$change['number']],
                ];
            }
            if (count($changes) < SHOWN_CHANGES) {
                break;
            }
        }
        \WP_CLI\Utils\format_items($options['format'] ?? 'table', array_slice($rows, 0, $limit), ['number', 'at (UTC)', 'record', 'change', 'by']);
    }

    private function list(array $options): void
    {
        $rows = [];
        $answer = ask_server('/keys');
        if (is_wp_error($answer)) { // the ids are enough to revoke a key
            \WP_CLI::warning($answer->get_error_message());
            foreach (list_keys() as $key) {
                $rows[] = [
                    'id' => $key->id, 'name' => $key->name, 'kind' => $key->kind, 'key' => masked_secret($key), 'status' => key_status($key),
                    'permissions' => '', 'limited to' => '', 'networks' => '', 'expires (UTC)' => $key->expires_at ?: 'never', 'last used (UTC)' => $key->last_used_at ?: 'never',
                ];
            }
        }
        foreach (is_wp_error($answer) ? [] : $answer['keys'] as $key) {
            $rows[] = [
                'id' => $key['id'], 'name' => $key['name'], 'kind' => $key['kind'], 'key' => $key['key'], 'status' => $key['status'],
                'permissions' => implode(',', $key['permissions']), 'limited to' => implode('; ', limit_texts($key)), 'networks' => implode(',', $key['networks']) ?: 'any',
                'expires (UTC)' => $key['expires_at'] ?: 'never', 'last used (UTC)' => $key['last_used_at'] ?: 'never',
            ];
        }
        $columns = ['id', 'name', 'kind', 'key', 'status', 'permissions', 'limited to', 'networks', 'expires (UTC)', 'last used (UTC)'];
        \WP_CLI\Utils\format_items($options['format'] ?? 'table', $rows, $columns);
    }

    /** Returns the fields of a key's form that the options name. */
    private function typed(array $options): array
    {
        $typed = array_intersect_key($options, array_flip(['name', 'kind', 'permissions', 'networks', 'expires', 'agents', 'services', 'locations', 'mask_personal']));
        if (isset($typed['permissions'])) {
            $typed['permissions'] = implode(',', preg_split('/[\s,]+/', (string) $typed['permissions'], -1, PREG_SPLIT_NO_EMPTY));
        }
        return array_map(fn($value) => is_bool($value) ? ($value ? '1' : '') : (string) $value, $typed);
    }

    /** Changes what is typed of a key, and nothing else. */
    private function restrict(int $id, array $typed): void
    {
        if (!$typed) {
            \WP_CLI::error('Name what to change, such as --permissions=read; see wp help bookside keys.');
        }
        $form = ask_server("/keys/$id");
        $this->refuse($form, false);
        $this->refuse(restrict_key($id, $typed + array_column($form['fields'], 'value', 'name') + ['version' => $form['version']]), true);
        \WP_CLI::success('Changed.');
    }

    /**
     * Fails if the server does not answer, or finds a mistake.
     *
     * @param array<string,mixed>|\WP_Error $answer
     * @param bool                          $sent   Whether a form that is still there is one with mistakes.
     */
    private function refuse($answer, bool $sent): void
    {
        if (is_wp_error($answer)) {
            \WP_CLI::error($answer->get_error_message());
        }
        if ($sent && isset($answer['fields'])) {
            $wrong = array_filter(array_column($answer['fields'], 'error', 'name'));
            $this->fail(array_merge([$answer['problem']], array_map(fn($name, $error) => "--$name: $error", array_keys($wrong), $wrong)));
        }
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

    /** Returns the action whose name is like a word; '' for none. */
    private function closest(string $word): string
    {
        $distances = array_map(fn($name) => levenshtein(substr($word, 0, 255), $name), array_combine(array_keys(self::SYNONYMS), array_keys(self::SYNONYMS)));
        asort($distances);
        $closest = (string) array_key_first($distances);
        return $distances[$closest] <= max(1, intdiv(strlen($closest), 3)) ? $closest : '';
    }

    /** @param array<string,mixed>|\WP_Error $made What make_key returned. */
    private function show($made): void
    {
        $this->refuse($made, true);
        \WP_CLI::line($made['secret']);
        \WP_CLI::log(sprintf('This is key %d. It is shown only once: only a hash of it is stored.', $made['id']));
    }
}
