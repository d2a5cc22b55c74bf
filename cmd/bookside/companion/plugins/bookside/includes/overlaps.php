<?php

/**
 * Overlapping bookings, by the same rules as the sidecar's check --conflicts.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

const OVERLAP_BOOKINGS = 20000;
const OVERLAP_PAIRS = 100;
const MINUTES_OF_DAY = 1440;

/**
 * Finds the bookings from today on that one agent cannot all keep, by the rules of the site's own calendar: buffers included; the seats of a
 * service at a location are shared.
 *
 * @return array{overlaps:array<int,array{agent:int,first:int,second:int,buffers_only:bool}>,cut:bool}
 */
function find_overlaps(): array
{
    global $wpdb;
    $bookings = platform_table('bookings');
    if (!has_table($bookings)) {
        return ['overlaps' => [], 'cut' => false];
    }
    $settings = platform_settings(['timeslot_blocking_statuses', 'one_location_at_time', 'multiple_services_at_time']);
    $statuses = explode(',', $settings['timeslot_blocking_statuses'] ?? '');
    $today = new \DateTimeImmutable('today', wp_timezone());
    $marks = implode(', ', array_fill(0, count($statuses), '%s'));
    $rows = $wpdb->get_results($wpdb->prepare(
        'SELECT id, agent_id, service_id, location_id, start_date, start_time, end_date, end_time, buffer_before, buffer_after,'
        . ' COALESCE(duration, (SELECT s.duration FROM ' . platform_table('services') . ' s WHERE s.id = service_id)) AS duration,'
        . " COALESCE(total_attendees, 1) AS attendees FROM $bookings WHERE start_date >= %s"
        . " AND (start_date >= %s OR end_date >= %s OR end_date < start_date) AND status IN ($marks) ORDER BY start_date, id LIMIT %d",
        ...array_merge([$today->modify('-1 day')->format('Y-m-d'), $today->format('Y-m-d'), $today->format('Y-m-d')], $statuses, [OVERLAP_BOOKINGS])
    ));
    $capacities = [];
    foreach ($wpdb->get_results('SELECT id, COALESCE(capacity_max, 1) AS seats FROM ' . platform_table('services')) as $service) {
        $capacities[(int) $service->id] = (int) $service->seats;
    }
    $rules = [
        'one_location' => ($settings['one_location_at_time'] ?? '') === 'on', 'many_services' => ($settings['multiple_services_at_time'] ?? '') === 'on',
    ];
    $found = overlaps_of($rows, day_number($today->format('Y-m-d')) * MINUTES_OF_DAY, $rules, $capacities);
    return ['overlaps' => array_slice($found, 0, OVERLAP_PAIRS), 'cut' => count($rows) === OVERLAP_BOOKINGS || count($found) > OVERLAP_PAIRS];
}

/** Returns settings of LatePoint by name. Of two rows with one name the first counts. */
function platform_settings(array $names): array
{
    global $wpdb;
    $table = platform_table('settings');
    $marks = implode(', ', array_fill(0, count($names), '%s'));
    $settings = [];
    foreach ($wpdb->get_results($wpdb->prepare("SELECT name, value FROM $table WHERE name IN ($marks) ORDER BY id", ...$names)) as $row) {
        $settings += [$row->name => (string) $row->value];
    }
    return $settings;
}

/** Returns the number of a day such as 2026-11-22. */
function day_number(string $date): int
{
    return intdiv((int) strtotime($date . ' 00:00:00 UTC'), DAY_IN_SECONDS);
}

/**
 * Returns pairs of overlapping bookings, ordered by the start of the second.
 *
 * @param object[]       $rows       Bookings.
 * @param int            $from       Bookings that end before this minute are ignored.
 * @param array          $rules      The settings one_location and many_services.
 * @param array<int,int> $capacities Seats of services.
 */
function overlaps_of(array $rows, int $from, array $rules, array $capacities): array
{
    $stays = $days = [];
    foreach ($rows as $row) {
        $stay = stay_of($row);
        if ($stay !== null && $stay['end'] > $from) {
            $stays[] = $stay;
            $days[intdiv($stay['start'], MINUTES_OF_DAY)] = $days[last_day($stay['end'])] = true;
        }
    }
    $stays = without_skipped($stays, array_keys($days));
    usort($stays, fn($a, $b) => [$a['guarded_start'], $a['id']] <=> [$b['guarded_start'], $b['id']]);
    $found = $present = [];
    foreach ($stays as $stay) {
        $there = array_filter($present[$stay['agent']] ?? [], fn($other) => $other['guarded_end'] > $stay['guarded_start']);
        $seats = $stay['attendees'];
        foreach ($there as $other) {
            $seats += $other['resource'] === $stay['resource'] ? $other['attendees'] : 0;
        }
        $crowded = $seats > max($capacities[$stay['service']] ?? 0, 1);
        foreach ($there as $other) {
            if (excludes($other, $stay, $rules, $crowded)) {
                $apart = $other['end'] <= $stay['start'] || $stay['end'] <= $other['start'];
                $found[] = ['agent' => $stay['agent'], 'first' => $other['id'], 'second' => $stay['id'], 'buffers_only' => $apart];
            }
        }
        $there[] = $stay;
        $present[$stay['agent']] = $there;
    }
    return $found;
}

/** Reports whether a booking leaves no room for another one of its agent. */
function excludes(array $other, array $stay, array $rules, bool $crowded): bool
{
    if ($other['location'] !== $stay['location']) {
        return $rules['one_location'];
    }
    return $other['service'] === $stay['service'] ? $crowded : !$rules['many_services'];
}

/** Returns the time of a booking in minutes, so that it can cross midnight; null if it is incomplete or takes no time. */
function stay_of(object $row): ?array
{
    foreach (['start_date', 'end_date', 'start_time', 'end_time', 'buffer_before', 'buffer_after'] as $column) {
        if ($row->$column === null || $row->$column === '0000-00-00') {
            return null;
        }
    }
    $start = day_number($row->start_date) * MINUTES_OF_DAY + (int) $row->start_time;
    $later = $row->end_date > $row->start_date;
    // LatePoint's form of an end at midnight is minute 1440 of the next date.
    $end = day_number($row->end_date) * MINUTES_OF_DAY + ($later && (int) $row->end_time >= MINUTES_OF_DAY ? 0 : (int) $row->end_time);
    $stay = [
        'id' => (int) $row->id, 'agent' => (int) $row->agent_id, 'service' => (int) $row->service_id, 'location' => (int) $row->location_id,
        'attendees' => (int) $row->attendees, 'start' => $start, 'end' => end_of($start, $end, (int) $row->duration),
        'buffer_before' => (int) $row->buffer_before, 'buffer_after' => (int) $row->buffer_after,
    ];
    $stay['resource'] = [$stay['service'], $stay['location']];
    return $stay['start'] < $stay['end'] ? $stay : null;
}

/**
 * Returns when a booking ends of which start, end and duration are stored. It occupies at most its own day and the next: an end after these, or
 * before the start, counts as start plus duration. What touches the hour that the clock skips ends later.
 */
function end_of(int $start, int $stored, int $duration): int
{
    $day = intdiv($start, MINUTES_OF_DAY);
    $last = ($day + 2) * MINUTES_OF_DAY;
    if ($stored >= $start && $stored <= $last && $stored - $start !== $duration) {
        return $stored;
    }
    $end = $start + $duration;
    foreach ([$day, $day + 1] as $day) {
        [$from, $to] = skipped($day);
        if ($from < $to && $start < $day * MINUTES_OF_DAY + $to && $end >= $day * MINUTES_OF_DAY + $from) {
            $end += $to - $from;
        }
    }
    return min($end, $last);
}

/** Returns the day on which something ends. */
function last_day(int $end): int
{
    return intdiv($end - 1, MINUTES_OF_DAY);
}

/**
 * Returns the part of a day that the clock of the site skips, as its first minute and the one after it.
 *
 * @return array{0:int,1:int}
 */
function skipped(int $day): array
{
    static $known = [];
    $zone = wp_timezone();
    $name = $zone->getName();
    if (isset($known[$name][$day])) {
        return $known[$name][$day];
    }
    $found = [0, 0];
    $midnight = $day * DAY_IN_SECONDS;
    $changes = $zone->getTransitions($midnight - DAY_IN_SECONDS, $midnight + 2 * DAY_IN_SECONDS) ?: []; // the first is no change
    for ($i = 1; $i < count($changes); $i++) {
        $before = $changes[$i - 1]['offset'];
        $shown = $changes[$i]['ts'] + $before;
        if ($changes[$i]['offset'] > $before && intdiv($shown, DAY_IN_SECONDS) === $day) {
            $from = intdiv($shown % DAY_IN_SECONDS, MINUTE_IN_SECONDS);
            $found = [$from, $from + intdiv($changes[$i]['offset'] - $before, MINUTE_IN_SECONDS)];
        }
    }
    return $known[$name][$day] = $found;
}

/**
 * Counts the minutes of stays without those that the clock skips, and adds their buffers. As in LatePoint's calendar, which sees one day, buffers
 * alone do not extend past midnight.
 */
function without_skipped(array $stays, array $days): array
{
    sort($days);
    $gone = [];
    $sum = 0;
    foreach ($days as $day) {
        $gone[$day] = [$sum, skipped($day)];
        $sum += $gone[$day][1][1] - $gone[$day][1][0];
    }
    $minute = static function (int $at, int $day) use ($gone): int {
        [$sum, [$from, $to]] = $gone[$day];
        return $at - $sum - ($at >= $day * MINUTES_OF_DAY + $to ? $to - $from : 0);
    };
    foreach ($stays as $i => $stay) {
        $first = intdiv($stay['start'], MINUTES_OF_DAY);
        $last = last_day($stay['end']);
        $start = $minute($stay['start'], $first);
        $end = $minute($stay['end'], $last);
        $stays[$i] = [
            'start' => $start, 'end' => $end,
            'guarded_start' => max($start - $stay['buffer_before'], $minute($first * MINUTES_OF_DAY, $first)),
            'guarded_end' => min($end + $stay['buffer_after'], $minute(($last + 1) * MINUTES_OF_DAY, $last)),
        ] + $stay;
    }
    return $stays;
}

/** Returns what people need to know of some bookings, by id: time, service, agent and customer. */
function describe_bookings(array $ids): array
{
    global $wpdb;
    if (!$ids) {
        return [];
    }
    $marks = implode(', ', array_fill(0, count($ids), '%d'));
    $rows = $wpdb->get_results($wpdb->prepare(
        'SELECT b.id, b.booking_code, b.start_date, b.start_time, b.end_time, s.name AS service, TRIM(CONCAT_WS(\' \', a.first_name, a.last_name)) AS agent,'
        . ' TRIM(CONCAT_WS(\' \', c.first_name, c.last_name)) AS customer FROM ' . platform_table('bookings') . ' b'
        . ' LEFT JOIN ' . platform_table('services') . ' s ON s.id = b.service_id LEFT JOIN ' . platform_table('agents') . ' a ON a.id = b.agent_id'
        . ' LEFT JOIN ' . platform_table('customers') . " c ON c.id = b.customer_id WHERE b.id IN ($marks)",
        ...array_map('intval', $ids)
    ));
    return array_column($rows, null, 'id');
}

/** Returns when a booking takes place, as the site shows dates. */
function booking_time(object $booking): string
{
    $clock = function (int $minutes): string {
        return gmdate((string) get_option('time_format'), ($minutes % MINUTES_OF_DAY) * 60);
    };
    $day = (string) wp_date(get_option('date_format'), (int) strtotime($booking->start_date . ' 12:00:00 UTC'), new \DateTimeZone('UTC'));
    return $day . ', ' . $clock((int) $booking->start_time) . '–' . $clock((int) $booking->end_time);
}
