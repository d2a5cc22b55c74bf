<?php

/**
 * Plugin Name: Calendars
 * Description: A stand-in for tests: it blocks times as that add-on of LatePoint does for which its file is named.
 */

add_filter('latepoint_blocked_periods_for_range', static function (array $days, $filter): array {
    global $wpdb;
    $early = in_array(get_option('latepoint-google-calendar_addon_db_version'), ['1.0.0', '1.0.1'], true);
    [$table, $splits, $anyDay] = [
        'latepoint-google-calendar' => ['gcal', !$early, $early],
        'latepoint-outlook-calendar' => ['outlook', true, false],
        'latepoint-apple-calendar' => ['apple_calendar', false, false],
    ][basename(__FILE__, '.php')];
    $off = $table === 'apple_calendar' && OsSettingsHelper::get_settings_value('enable_apple_calendar') !== 'on';
    if ($off || !$filter->date_from || !$filter->date_to || !$filter->connections) {
        return $days;
    }
    $agents = implode(', ', array_map(static function ($connection): int {
        return (int) $connection->agent_id;
    }, $filter->connections));
    $sameDay = 'DAY(start_date) = DAY(@day)' . ($anyDay ? '' : " AND (weekday IS NULL OR weekday = '')");
    foreach (array_keys($days) as $day) {
        $time = strtotime($day);
        $weekday = strtolower(substr(gmdate('D', $time), 0, 2));
        $numbered = ceil(gmdate('j', $time) / 7) . $weekday;
        $last = gmdate('t', $time) - gmdate('j', $time) < 7 ? '-1' . $weekday : 'none';
        $wpdb->query("SET @day = CAST('$day' AS date)");
        $events = $wpdb->get_results(
            "SELECT e.* FROM {$wpdb->prefix}latepoint_{$table}_events e LEFT JOIN {$wpdb->prefix}latepoint_{$table}_recurrences r ON e.id = r.lp_event_id
            WHERE start_date <= @day AND (until IS NULL OR until > @day) AND agent_id IN ($agents) AND (
                start_date = @day OR end_date >= @day
                OR (frequency = 'daily' AND DATEDIFF(@day, start_date) % r.interval = 0
                    AND (count IS NULL OR FLOOR(DATEDIFF(@day, start_date) / r.interval) < count))
                OR (frequency = 'weekly' AND weekday = '$weekday' AND FLOOR(DATEDIFF(@day, start_date) / 7) % r.interval = 0
                    AND (count IS NULL OR FLOOR(FLOOR(DATEDIFF(@day, start_date) / 7) / r.interval) < count))
                OR (frequency = 'monthly' AND (($sameDay) OR weekday = '$numbered' OR weekday = '$last')
                    AND PERIOD_DIFF(EXTRACT(YEAR_MONTH FROM @day), EXTRACT(YEAR_MONTH FROM start_date)) % r.interval = 0
                    AND (count IS NULL OR FLOOR(PERIOD_DIFF(EXTRACT(YEAR_MONTH FROM @day), EXTRACT(YEAR_MONTH FROM start_date)) / r.interval) < count))
                OR (frequency = 'yearly' AND DATE_FORMAT(@day, '%m%d') = DATE_FORMAT(start_date, '%m%d')
                    AND (YEAR(@day) - YEAR(start_date)) % r.interval = 0
                    AND (count IS NULL OR FLOOR(YEAR(@day) - YEAR(start_date) / r.interval) < count)))"
        );
        if ($wpdb->last_error) {
            throw new RuntimeException($wpdb->last_error);
        }
        foreach ($events as $event) {
            $several = $splits && $event->end_date > $event->start_date;
            $days[$day][] = new LatePoint\Misc\BlockedPeriod([
                'start_date' => $day,
                'end_date' => $day,
                'start_time' => $several && $event->start_date !== $day ? 0 : (int) $event->start_time,
                'end_time' => $several && $event->end_date !== $day ? 1439 : (int) $event->end_time,
                'agent_id' => (int) $event->agent_id,
            ]);
        }
    }
    return $days;
}, 10, 2);
