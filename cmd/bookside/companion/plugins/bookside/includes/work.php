<?php

/**
 * Background work: changes, jobs, webhooks, mails and keys. The API server rates it; this file only words the ratings.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

const RATED_AT_MOST = 100;

/** Returns the ratings in what the server said, as checks by their codes; none if it does not rate, or does not answer. */
function work_checks(): array
{
    $checks = [];
    foreach (sidecar_state()['rating'] as $rated) {
        $checks[$rated['code']] = function () use ($rated) {
            $states = ['good' => 'good', 'broken' => 'critical'];
            [$label, $text] = rated_words($rated);
            return check($states[$rated['level']] ?? 'recommended', $label, $text);
        };
    }
    return $checks;
}

/** Returns the ratings in the body of an answer, each with code, name, level, text, count, since and ids of the types that they should have. */
function ratings_in(array $body): array
{
    $ratings = [];
    foreach (is_array($body['rating'] ?? null) ? $body['rating'] : [] as $rated) {
        if (!is_array($rated) || !preg_match('/^[a-z_]{1,40}$/D', is_string($rated['code'] ?? null) ? $rated['code'] : '')) {
            continue;
        }
        foreach (['name', 'level', 'text', 'since'] as $field) {
            $rated[$field] = is_string($rated[$field] ?? null) ? $rated[$field] : '';
        }
        $rated['count'] = is_int($rated['count'] ?? null) ? $rated['count'] : 0;
        $rated['ids'] = array_filter(is_array($rated['ids'] ?? null) ? $rated['ids'] : [], 'is_int');
        $ratings[] = $rated;
    }
    return $ratings;
}

/**
 * Returns the label and the text of a rating. Ratings that only a newer server knows have its own words.
 *
 * @return array{0:string,1:string}
 */
function rated_words(array $rated): array
{
    $count = $rated['count'] > RATED_AT_MOST
        /* translators: %s: a number. */
        ? sprintf(__('more than %s', 'bookside'), number_format_i18n(RATED_AT_MOST))
        : number_format_i18n($rated['count']);
    $which = implode(', ', rated_names($rated)) . ($rated['count'] > count($rated['ids']) ? ', …' : '');
    $since = local_time($rated['since']);
    switch ($rated['code']) {
        case 'changes':
            return [__('Changes are passed on', 'bookside'), __('Webhooks, and apps that follow the changes of bookings, get them.', 'bookside')];
        case 'changes_late':
            return [
                __('Changes are not passed on', 'bookside'),
                sprintf(
                    /* translators: %s: a span of time such as "2 hours". */
                    __('The oldest change has been waiting for %s, so webhooks and apps that follow the changes of bookings stand still. Start the server of the API, or see its log.', 'bookside'),
                    human_time_diff((int) strtotime($rated['since'] . ' UTC'))
                ),
            ];
        case 'restored_under':
            return [
                __('An older database came back while the server of the API ran', 'bookside'),
                __('Earlier mails and webhooks may be sent again. Run "bookside restored" on the server.', 'bookside'),
            ];
        case 'writes':
            return [__('The database accepts what the API writes', 'bookside'), __('The server of the API may write to all tables that it needs.', 'bookside')];
        case 'writes_refused':
            return [
                __('The database refuses some of what the API writes', 'bookside'),
                __('Some requests that book, change or cancel fail. "bookside check" on the server names the tables and says what to do.', 'bookside'),
            ];
        case 'jobs':
            return [__('LatePoint\'s jobs run', 'bookside'), __('Mails of bookings are sent, by this site or by Bookside, and none is late.', 'bookside')];
        case 'jobs_unscheduled':
            return [
                __('LatePoint\'s jobs are not run', 'bookside'),
                __('Reminders and other delayed mails of LatePoint are not sent. Switch on "Run LatePoint\'s jobs" under LatePoint, API, Settings, or save the settings once more if it is on.', 'bookside'),
            ];
        case 'jobs_late':
            return [
                __('LatePoint\'s jobs are late', 'bookside'),
                sprintf(
                    /* translators: 1: a number. 2: a time. 3: a list of numbers. */
                    __('LatePoint\'s jobs that wait, such as reminders: %1$s, the oldest since %2$s (%3$s). See "Run LatePoint\'s jobs" under LatePoint, API, Settings; with DISABLE_WP_CRON, the system has to call wp-cron.php every five minutes.', 'bookside'),
                    $count,
                    $since,
                    $which
                ),
            ];
        case 'webhooks':
            return [__('Webhooks arrive', 'bookside'), __('None is failing.', 'bookside')];
        case 'webhooks_failing':
            return [
                __('Webhooks fail', 'bookside'),
                /* translators: 1: a number. 2: a time. 3: a list of webhooks. */
                sprintf(__('Webhooks that fail: %1$s, the first since %2$s (%3$s). LatePoint, API, Webhooks shows what their receivers answered.', 'bookside'), $count, $since, $which),
            ];
        case 'webhooks_disabled':
            return [
                __('Webhooks were disabled automatically', 'bookside'),
                sprintf(
                    /* translators: 1: a number. 2: a list of webhooks. */
                    __('Webhooks that were disabled after failures, with their key, or since a backup was restored: %1$s (%2$s). Enable or delete them by "bookside webhooks" on the server.', 'bookside'),
                    $count,
                    $which
                ),
            ];
        case 'mails':
            return [__('No mail of the API is late', 'bookside'), __('The server of the API could send its mails, if it sends any.', 'bookside')];
        case 'mails_late':
            return [
                __('Mails of the API are not sent', 'bookside'),
                /* translators: 1: a number. 2: a list of numbers. */
                sprintf(__('Mails that have waited for more than an hour: %1$s (%2$s). Make sure that the mail server accepts mails, and that "mail.enabled" is on for a server of the API.', 'bookside'), $count, $which),
            ];
        case 'mails_failed':
            return [
                __('Mails of the API failed', 'bookside'),
                /* translators: 1: a number. 2: a list of numbers. */
                sprintf(__('Mails that failed in the last three days: %1$s (%2$s). The outbox in the console of the server has the reasons.', 'bookside'), $count, $which),
            ];
        case 'mails_held':
            return [
                __('Mails of the API are held back', 'bookside'),
                /* translators: 1: a number. 2: a list of numbers. */
                sprintf(__('Mails that are held since a backup was restored: %1$s (%2$s). "bookside restored" on the server sends or drops them.', 'bookside'), $count, $which),
            ];
        case 'keys':
            return [__('No API key expires soon', 'bookside'), __('All are valid for more than a week.', 'bookside')];
        case 'keys_expiring':
            return [
                __('API keys expire soon', 'bookside'),
                /* translators: 1: a number. 2: a time. 3: a list of keys. */
                sprintf(__('Keys that expire within a week: %1$s, the first on %2$s (%3$s). Replace them under LatePoint, API, Keys.', 'bookside'), $count, $since, $which),
            ];
        case 'extensions':
            return [__('The API honours all additions to LatePoint', 'bookside'), __('No active plugin changes bookings in a way that the API does not honour. The command "bookside extensions verify" compares the site with the API.', 'bookside')];
        case 'extensions_ignored':
            return [
                __('The API does not honour some additions to LatePoint', 'bookside'),
                /* translators: %s: what the server says. */
                sprintf(__('The server says: %s. What these plugins do happens on the site, but not in bookings by the API.', 'bookside'), $rated['text']),
            ];
        case 'extensions_failed':
            return [
                __('Plugins failed to process changes by the API', 'bookside'),
                sprintf(
                    /* translators: 1: a number. 2: a list of numbers. */
                    __('Changes of the last three days that plugins failed to process: %1$s (%2$s). LatePoint, API, Extensions shows why, and can send them again.', 'bookside'),
                    $count,
                    $which
                ),
            ];
        case 'extensions_late':
            return [
                __('Plugins are not told about changes by the API', 'bookside'),
                /* translators: 1: a number. 2: a list of numbers. */
                sprintf(__('Changes that have waited for more than 10 minutes: %1$s (%2$s). The API server does not reach WordPress, or the companion is not active: the command "bookside check" says why.', 'bookside'), $count, $which),
            ];
        default:
            return [$rated['name'], $rated['text']];
    }
}

/** Returns what a rating counts: ids, and the names of webhooks and keys, which the server tells only by a signed request. */
function rated_names(array $rated): array
{
    $of = strtok($rated['code'], '_');
    $listed = in_array($of, ['webhooks', 'keys'], true) && $rated['ids'] ? ask_server('/' . $of) : [];
    $known = is_wp_error($listed) ? [] : array_column($listed[$of] ?? [], 'name', 'id');
    return array_map(fn($id) => isset($known[$id]) ? $id . ' (' . $known[$id] . ')' : (string) $id, $rated['ids']);
}
