<?php
// Lists services, finds a free time, books it, meets the conflict of a second booking, cancels and follows the
// changes, with the client that OpenAPI Generator made from the document for clients.
use Bookside\Api\AvailabilityApi;
use Bookside\Api\BookingsApi;
use Bookside\Api\ChangesApi;
use Bookside\Api\ServicesApi;
use Bookside\ApiException;
use Bookside\Configuration;
use Bookside\Model\CancelBookingBody;
use Bookside\Model\CreateBookingBody;
use Bookside\Model\CreateBookingBodyCustomer;
use Bookside\Model\CreateBookingResult;
use Bookside\Model\Error;

require '/usr/share/php/GuzzleHttp/autoload.php';
spl_autoload_register(fn ($name) => require __DIR__ . '/lib/' . strtr(substr($name, strlen('Bookside\\')), '\\', '/') . '.php');

function check(bool $good, string $what, mixed $got): void
{
    if (!$good) {
        fwrite(STDERR, "php: $what: " . var_export($got, true) . "\n");
        exit(1);
    }
}

[, $base, $key] = $argv;
$config = (new Configuration())->setHost($base)->setApiKey('X-API-Key', $key);
$http = new GuzzleHttp\Client(['headers' => ['X-Ids' => 'integer']]);
$bookings = new BookingsApi($http, $config);
$changes = new ChangesApi($http, $config);

$now = $changes->listChanges();
$services = (new ServicesApi($http, $config))->listServices(per_page: 1);
$service = $services->getData()[0]->getId();

$date = new DateTime('tuesday +11 weeks');
$day = $date->format('Y-m-d'); // in queries, where this generator does not write a date itself
$times = (new AvailabilityApi($http, $config))->getAvailability($service, -1, $day, with: ['agents']);
$first = $times->getData()->getSlots()[0] ?? null;
check((bool) $first?->getAgents(), 'free times', $times);
[$start, $agent] = [$first->getStartTime(), $first->getAgents()[0]];

function book(string $email): CreateBookingResult|Error
{
    global $bookings, $service, $agent, $date, $start;
    $customer = new CreateBookingBodyCustomer(['first_name' => 'Ada', 'last_name' => 'Byron', 'email' => $email]);
    $body = new CreateBookingBody(['service_id' => $service, 'agent_id' => $agent, 'start_date' => $date, 'start_time' => $start, 'customer' => $customer]);
    try {
        return $bookings->createBooking($body);
    } catch (ApiException $refused) {
        return $refused->getResponseObject();
    }
}

$created = book('php@example.com');
check($created instanceof CreateBookingResult, 'book', $created);
$booking = $created->getData();
$conflict = book('other@example.com');
check($conflict instanceof Error && $conflict->getCode() === 'time_slot_unavailable' && $conflict->getData()->getStatus() === 409
    && $conflict->getData()->getConflict()->getConflictingBookingId() === $booking->getId(), 'second booking', $conflict);
$list = $bookings->listBookings(date_from: $day, date_to: $day);
check(in_array($booking->getBookingCode(), array_map(fn ($one) => $one->getBookingCode(), $list->getData()), true), 'list', $list);
$cancelled = $bookings->cancelBooking($booking->getId(), cancel_booking_body: new CancelBookingBody());
check($cancelled->getData()->getStatus() === 'cancelled', 'cancel', $cancelled);

$kinds = [];
$cursor = $now->getCursor();
for ($tries = 0; count($kinds) < 2 && $tries < 10; $tries++) {
    $more = $changes->listChanges(cursor: $cursor, wait: 5);
    foreach ($more->getData() as $one) {
        if ($one->getResource() === 'bookings' && $one->getResourceId() === $booking->getId()) {
            $kinds[] = $one->getKind();
        }
    }
    $cursor = $more->getCursor();
}
check($kinds === ['created', 'updated'], 'changes of the booking', $kinds);
echo "php: booked $start with agent $agent, met {$conflict->getCode()}, cancelled booking {$booking->getId()}, followed ", implode(' ', $kinds), "\n";
