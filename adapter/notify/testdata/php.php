<?php
// What PHP answers, for the tests of this package: php php.php > php.json

$dates = [];
$letters = str_split('dDjlNSwzWFmMntLoYyxXaABgGhHisuveIOPpTZcrU');
$moments = [
	['UTC', 0, 0],
	['UTC', 1798761599, 999999],                // the last second of 2026
	['Europe/Berlin', 1774746000, 1],           // after the change to summer time 2026
	['Europe/Berlin', 1774745999, 500000],      // before it
	['Europe/London', 1767571629, 12345],
	['Europe/London', 1782864000, 0],           // summer
	['America/New_York', 1830297600, 0],
	['America/Sao_Paulo', 1709208000, 0],       // 29 February
	['Asia/Kolkata', 1735689600, 0],
	['Australia/Sydney', 1893456000, 0],
	['Pacific/Kiritimati', 1609459199, 0],      // week 53
	['+05:30', 1767571629, 0],
	['-03:00', 1767571629, 0],
	['+00:00', 1767571629, 0],
	['UTC', -1, 0],                             // before 1970
	['UTC', 253402300799, 0],                   // the year 9999
	['UTC', 253402300800, 0],                   // the year 10000
	['UTC', -62135596801, 0],                   // the year 0
	['UTC', -62198755201, 0],                   // the year -1
];
foreach (range(1, 31) as $day) {
	$moments[] = ['UTC', gmmktime($day % 24, 30, 0, 1, $day, 2028), 0];
}
foreach ($moments as [$zone, $unix, $micro]) {
	$d = (new DateTime("@$unix"))->setTimezone(new DateTimeZone($zone))->modify("+$micro microseconds");
	$want = [];
	foreach ($letters as $letter) {
		$want[$letter] = $d->format($letter);
	}
	$dates[] = ['zone' => $zone, 'unix' => $unix, 'micro' => $micro, 'want' => $want];
}

$formats = [];
foreach (['F j, Y', 'M j, Y', 'd.m.Y', 'l, jS \o\f F Y', 'Y-m-d\TH:i:sP', '\\\\d\\d', 'j. F Y à H\hi', 'ÄÖÜ ß d', '', 'q?k', 'D, d M y'] as $format) {
	$formats[] = ['format' => $format, 'want' => gmdate($format, 1796055305)];
}

$texts = ['', '0', '1', '01', '1.0', '1.', '.5', '0.5', '5e-1', '1e0', '+1', '-1', '--1', ' 1', '1 ', "1\n", "\v1", '1 a', 'a1', 'a', 'A',
	'approved', 'approved ', ' approved', 'null', 'true', 'inf', 'INF', 'nan', '0x1', '0x10', '16', '1_000', '1000', '1e3', '1e+3', '1e', 'e1', '.',
	'-', '0.0', '-0', '9223372036854775807', '9223372036854775808', '9223372036854775809', '9223372036854775808.0', '-9223372036854775808',
	'-9223372036854775809', '18446744073709551616', '1e999', '1e998', '-1e999', '1e-999', "\u{a0}1", '٣', '45.0000', '45', '12,5'];
$equal = [];
foreach ($texts as $a) {
	$row = '';
	foreach ($texts as $b) {
		$row .= $a == $b ? '1' : '0';
	}
	$equal[] = $row;
}

$floats = [];
foreach ($texts as $a) {
	$float = (float) $a;
	$floats[] = is_finite($float) ? $float : ($float > 0 ? 'inf' : '-inf');
}

$offsets = [];
foreach ([['1', 'day'], ['7', 'day'], ['90', 'minute'], ['36', 'hour'], ['2', 'week'], ['1', 'month'], ['1', 'year'], ['2', 'days'], ['1', 'Day'],
	['-3', 'hour'], ['0', 'day'], ['x', 'day'], ['', 'day'], ['1', 'moon'], [' 4 ', 'day']] as [$value, $unit]) {
	foreach (['before', 'after', ''] as $side) {
		foreach (['2026-03-29 01:30:00', '2028-03-31 23:59:59'] as $at) {
			$d = new DateTime($at, new DateTimeZone('UTC'));
			try {
				@$d->modify(($side == 'after' ? '+' : '-') . $value . ' ' . $unit);
			} catch (Exception) {} // since PHP 8.3, which also leaves the time as it was
			$offsets[] = ['value' => $value, 'unit' => $unit, 'side' => $side, 'at' => $at, 'want' => $d->format('Y-m-d H:i:s')];
		}
	}
}

$encoded = [];
foreach (['', 'plain', 'a/b', '<b class="x">&\'</b>', 'Ríta x O\'Neu & Söhne', '€ 5', '👩‍⚕️ 𝄞', "\0\x01\x08\x09\x0a\x0b\x0c\x0d\x1f\x7f", "\u{80}\u{2028}\u{2029}\u{ffff}\u{fffd}",
	'back\\slash "quote"', '日本'] as $text) {
	$encoded[] = ['text' => $text, 'want' => json_encode(['k' => $text])];
}

echo json_encode(compact('dates', 'formats', 'texts', 'equal', 'floats', 'offsets', 'encoded'), JSON_PRETTY_PRINT | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION), "\n";
