<?php
// Prints testdata/expressions.json: zone, local time, expression and what PHP's
// DateTime::modify makes of them, null for what strtotime does not read.
$times = ['Europe/Berlin' => ['2026-11-21 01:43:00', '2027-03-27 12:05:00', '2027-03-28 01:30:00', '2027-10-31 01:59:00', '2027-01-31 09:00:00'],
          'America/New_York' => ['2027-03-14 00:40:00', '2027-11-07 00:30:00'], '+05:30' => ['2026-11-24 15:17:00'], '-03:30' => ['2026-11-24 06:47:00']];
$expressions = ['+2 hours', '+1 day', '+90 minutes', '+2 weeks', '+1 month', 'tomorrow', '2026-11-23', '2026-11-27 14:30', '2026-11-27T14:30', 'whenever', '0', '',
    '+1 week 2 days', '+1 day +2 hours', 'tomorrow 10:00', '10:00 tomorrow', 'tomorrow noon', 'midnight', 'now', 'yesterday', 'next month', 'last year', 'monday',
    '2 hours', '3 days ago', '-3 days', '+1 hour 30 minutes', '+2hours', '+2 HOURS', '+1 fortnight', '+30 sec', '9am', '9:30 pm', '12am', '12pm', '13pm', 'friday 9am',
    '2026-13-01', '2026-11-27 25:00', '+6 months', '+1 day junk', '+24 hours', 'sunday', '+1 month -1 day', '24:00', '12:60', '+1 day, 2 hours', 'next hour',
    '2026-11-27 +1 day', '14:30 2026-11-27', 'today +1 day', '+1 week friday', 'day',
    '2 years ago', '2 months ago', '2 hours ago', '2 fortnights', '+90 seconds', '10:00:30', '10:00:30 +45 sec', '12:59', '12:30:59', '12:30:60', '12:30:61', '1am', '0am', '+1000000 minutes', '-1000000 minutes'];
foreach ($times as $zone => $moments) foreach ($moments as $moment) foreach ($expressions as $e) {
    $t = new DateTime($moment, new DateTimeZone($zone));
    $ok = strtotime($e) !== false && @$t->modify($e) !== false;
    $rows[] = json_encode([$zone, $moment, $e, $ok ? $t->format('Y-m-d H:i') : null]);
}
echo "[\n", implode(",\n", $rows), "\n]\n";
