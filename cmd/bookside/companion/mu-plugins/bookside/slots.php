<?php

defined('ABSPATH') || exit;

/**
 * Prevents two bookings in one slot, whoever makes them.
 *
 * Before LatePoint checks whether a slot is free, or before it saves a booking without checking, the rows of the slot
 * are locked; they are released when the booking's row exists. Where LatePoint itself checks (checkout, reschedule by
 * the customer), it does so under the lock; elsewhere (staff form, abilities, status) this class does, by asking
 * LatePoint what occupies the slot. Working hours only bind customers.
 *
 * Between the check and the row, only the database may be waited for. If a payment, or mails about other bookings, come
 * in between (checkout, staff form), the check ends with a hold and the lock is released. It is taken again for each
 * booking that is saved, whose hold ends with it. A slot with a hold needs no second check.
 */
class BooksideSlots
{
    /**
     * When a booking b of a service s ends, in minutes after the midnight before its start: at its stored end unless that is missing,
     * before the start or after the next day, otherwise when its duration, or that of its service, is over.
     */
    public const END = 'CASE WHEN COALESCE(b.end_time, 0) = 0 OR COALESCE(DATEDIFF(b.end_date, b.start_date), 0) NOT BETWEEN 0 AND 1 '
        . 'OR COALESCE(DATEDIFF(b.end_date, b.start_date), 0) = 0 AND b.end_time < b.start_time '
        . 'THEN b.start_time + IF(b.duration > 0, b.duration, GREATEST(COALESCE(s.duration, 0), 0)) '
        . 'WHEN b.end_date > b.start_date AND b.end_time < 1440 THEN 1440 + b.end_time WHEN b.end_date > b.start_date THEN 1440 ELSE b.end_time END';

    private BooksideLock $lock;

    private BooksideHolds $holds;

    private BooksideAssets $assets;

    /** Processors that charge before the form is sent. */
    private const PAID_IN_BROWSER = ['stripe_connect', 'razorpay_connect'];

    /** A change of one booking's status, as $wpdb or people write it. */
    private const STATUS_CHANGE = '/\sSET\s(?:.*?[\s,])?`?status`?\s*=\s*[\'"]([^\'"]*)[\'"].*\sWHERE\s+`?id`?\s*=\s*[\'"]?(\d+)[\'"]?'
        . '(?:\s|;|LIMIT\s+1\b|\/\*.*?\*\/)*$/is';

    /**
     * @var string What LatePoint is doing: checkout and reschedule while it looks under the lock, payment from the end of a
     *      checkout's look to its last booking's row, or '' for nothing of these.
     */
    private string $flow = '';

    /** @var int The booking that is rescheduled. */
    private int $rescheduled = 0;

    /** @var bool Whether the lock could not be taken, so that nothing is free. */
    private bool $refused = false;

    /** @var int How many bookings of the checkout have no row yet. */
    private int $unsaved = 0;

    /** @var OsBookingModel[] The bookings of the checkout that LatePoint has looked at; the last one it may be looking at. */
    private array $cart = [];

    /** @var OsBookingModel|null The booking that LatePoint looked at last. */
    private $looked = null;

    /** @var string The ability that is running. */
    private string $ability = '';

    /** @var bool Whether this class itself is asking LatePoint. */
    private bool $asking = false;

    /** @var string[] What staff should know about the bookings that they made. */
    private array $warnings = [];

    /** @var string A change of status, until it has run. */
    private string $statusQuery = '';

    public function __construct()
    {
        $this->lock = new BooksideLock();
        $this->holds = new BooksideHolds($this->lock);
        $this->assets = new BooksideAssets($this->lock, $this->holds);
    }

    public function register(): void
    {
        $this->holds->register();
        $this->assets->register();
        add_action('latepoint_order_intent_processing', [$this, 'beginCheckout'], PHP_INT_MIN);
        add_action('latepoint_order_intent_new', [$this, 'refused'], PHP_INT_MIN);
        foreach (['latepoint_order_intent_new', 'latepoint_order_intent_failed', 'latepoint_order_created'] as $end) {
            add_action($end, [$this, 'endCheckout'], PHP_INT_MIN);
        }
        add_filter('latepoint_process_payment_for_order_intent', [$this, 'beginPayment'], PHP_INT_MIN);
        add_filter('latepoint_create_booking_request_from_booking_model', [$this, 'beginLook'], PHP_INT_MIN, 2);
        add_filter('latepoint_blocked_periods_for_range', [$this, 'blockRefused'], PHP_INT_MAX);
        add_filter('latepoint_get_booked_periods', [$this, 'addBookedPeriods'], 10, 2);
        add_filter('latepoint_get_resources_grouped_by_day', [$this, 'closeTakenSlots'], 9, 5); // before Pro shifts slots to the visitor's zone, at 10
        add_action('latepoint_model_validate', [$this, 'validate'], PHP_INT_MAX, 3);
        add_action('latepoint_model_save', [$this, 'saved'], PHP_INT_MIN);
        add_action('wp_before_execute_ability', [$this, 'beginAbility']);
        add_action('wp_after_execute_ability', [$this, 'endAbility']);
        add_action('shutdown', [$this, 'end'], PHP_INT_MIN);
    }

    /**
     * Locks the slots of a cart before LatePoint checks whether they are free, and before it charges anything.
     * LatePoint does not expect an exception here.
     *
     * @param OsOrderIntentModel $intent
     */
    public function beginCheckout($intent): void
    {
        try {
            $this->endCheckout(); // of another intent
            $rows = [];
            $this->unsaved = 0;
            foreach ($intent->build_cart_object()->get_items() as $item) {
                if ($item->variant === LATEPOINT_ITEM_VARIANT_BOOKING) {
                    $rows[] = $this->rowsOf($item->build_original_object_from_item_data());
                    $this->unsaved++;
                }
            }
            if ($rows === []) {
                return;
            }
            $this->flow = 'checkout';
            $this->cart = [];
            $this->refused = !$this->take(BooksideLock::join(...$rows));
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
        }
    }

    public function endCheckout(): void
    {
        if ($this->flow === 'checkout' || $this->flow === 'payment') {
            $this->end();
        }
    }

    /**
     * Reports a checkout that was refused although its visitor has paid: in the browser, before the slot was checked.
     *
     * @param OsOrderIntentModel $intent
     */
    public function refused($intent): void
    {
        if ($this->flow !== 'checkout') {
            return;
        }
        $payment = json_decode((string) ($intent->payment_data ?? ''), true);
        if (empty($payment['token']) || !in_array($payment['processor'] ?? '', self::PAID_IN_BROWSER, true)) {
            return;
        }
        /* translators: 1: number of an unfinished order. 2: name of a payment processor. */
        $text = sprintf(__('Order intent %1$d was refused, and is probably paid with %2$s.', 'bookside'), (int) $intent->id, $payment['processor']);
        if (strpos(bookside_companion_failures()['payment']['message'] ?? '', $text) === false) { // the payment processor retries
            $this->tell($text);
        }
    }

    /** Tells staff of money that has no booking. */
    private function tell(string $text): void
    {
        error_log('Bookside: ' . $text);
        bookside_companion_failed('payment', trim($text . ' ' . (bookside_companion_failures()['payment']['message'] ?? '')));
    }

    /**
     * Runs before the payment of a cart whose bookings LatePoint has checked: others may continue from now on.
     *
     * @param mixed $result
     */
    public function beginPayment($result)
    {
        if ($this->flow === 'checkout') {
            $this->keepCart();
        }
        return $result;
    }

    /** Keeps the bookings of the checkout, and releases the lock. Reports whether the checkout may go on. */
    private function keepCart(): bool
    {
        if ($this->refused) {
            return false;
        }
        $bookings = array_filter(array_slice($this->cart, -$this->unsaved), function ($booking): bool {
            return $this->blocks((string) $booking->status, (int) $booking->service_id);
        });
        $this->flow = 'payment';
        $this->cart = [];
        try {
            return $this->holds->keep($bookings);
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
            $this->lock->release();
            return true;
        }
    }

    /**
     * Runs before LatePoint checks whether the slot of a booking is free: when it is checked out, when a customer moves
     * it, and for calendars, which need no lock.
     *
     * @param \LatePoint\Misc\BookingRequest $request
     * @param OsBookingModel $booking
     */
    public function beginLook($request, $booking)
    {
        $this->looked = $booking;
        if ($this->asking) {
            return $request;
        }
        if ($this->flow === 'checkout' && !in_array($booking, $this->cart, true)) {
            $this->cart[] = $booking;
        }
        if ($this->flow === '' && !empty($booking->id) && self::reschedules()) {
            $this->beginReschedule($booking);
        }
        return $request;
    }

    /** Locks the old and the new slot of a booking that its customer moves. */
    private function beginReschedule($booking): void
    {
        try {
            $this->flow = 'reschedule';
            $this->rescheduled = (int) $booking->id;
            $this->refused = !$this->take($this->rowsToMove($booking, $this->stored($this->rescheduled)));
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
        }
    }

    /** Reports whether a customer asked to move a booking. */
    private static function reschedules(): bool
    {
        // Only compared; LatePoint validates the request.
        $route = $_POST['route_name'] ?? $_GET['route_name'] ?? ''; // phpcs:ignore
        return in_array(
            $route,
            ['customer_cabinet__process_reschedule_request', 'manage_booking_by_key__process_reschedule_request'],
            true
        );
    }

    /**
     * Blocks all days if the lock is not available, so that LatePoint says that the slot is no longer available.
     *
     * @param array<string,array> $periods By date.
     */
    public function blockRefused($periods)
    {
        if (!$this->refused || !is_array($periods)) {
            return $periods;
        }
        foreach (array_keys($periods) as $day) {
            $periods[$day][] = new \LatePoint\Misc\BlockedPeriod(
                ['start_date' => $day, 'end_date' => $day, 'start_time' => 0, 'end_time' => 1440]
            );
        }
        return $periods;
    }

    /**
     * Adds what occupies slots without a booking's row: holds, and the other bookings of the same cart. They count like
     * bookings, with their seats. The hold of a booking does not keep it from its own slot.
     *
     * @param \LatePoint\Misc\BookedPeriod[] $periods
     * @param \LatePoint\Misc\Filter $filter
     */
    public function addBookedPeriods($periods, $filter)
    {
        if (!is_array($periods)) {
            return $periods;
        }
        try {
            foreach ($this->holds->on((string) $filter->date_from, (string) ($filter->date_to ?: $filter->date_from), $this->ownHold()) as $hold) {
                $periods[] = new \LatePoint\Misc\BookedPeriod($hold);
            }
            foreach ($this->othersOfCart() as $booking) {
                $periods[] = \LatePoint\Misc\BookedPeriod::create_from_booking_model($booking);
            }
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
        }
        return $periods;
    }

    /** Returns the hold of the booking that LatePoint looks at; 0 for none. */
    private function ownHold(): int
    {
        return $this->flow === 'payment' && $this->looked !== null ? $this->holds->of($this->looked) : 0;
    }

    /** @return OsBookingModel[] The bookings of the cart that come before the one that LatePoint looks at. */
    private function othersOfCart(): array
    {
        return $this->flow === 'checkout' && count($this->cart) <= $this->unsaved ? array_slice($this->cart, 0, -1) : [];
    }

    /**
     * Closes slots whose rooms or devices are taken.
     *
     * @param array<string,\LatePoint\Misc\BookingResource[]> $days By date.
     * @param \LatePoint\Misc\BookingRequest $request
     * @param mixed $from Not used.
     * @param mixed $to Not used.
     * @param mixed $settings
     */
    public function closeTakenSlots($days, $request, $from = null, $to = null, $settings = [])
    {
        try {
            $except = array_map('intval', (array) ($settings['exclude_booking_ids'] ?? []));
            $this->assets->close((array) $days, (int) $request->duration, $except, $this->ownHold(), $this->othersOfCart());
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
        }
        return $days;
    }

    /**
     * Checks a booking before it is saved, if LatePoint did not check it under the lock itself.
     *
     * @param OsModel $model
     * @param mixed $alternative Not used.
     * @param mixed $skipped Properties that are not validated.
     */
    public function validate($model, $alternative = false, $skipped = []): void
    {
        if (!$model instanceof OsBookingModel || $model->get_error()) {
            return;
        }
        $skipped = is_array($skipped) ? $skipped : [];
        if (in_array('status', $skipped, true)) { // not a save: LatePoint has checked a slot
            $last = $this->flow === 'checkout' && count($this->cart) >= $this->unsaved && end($this->cart) === $model;
            if ($last && !$this->keepCart()) {
                $model->add_error('validation', self::busy());
            }
            return;
        }
        $checked = $this->flow === 'checkout' && empty($model->id)
            || $this->flow === 'reschedule' && (int) $model->id === $this->rescheduled;
        if ($checked && !$this->refused && $this->lock->held()) {
            return;
        }
        try {
            $refusal = $this->guard($model, in_array('order_item_id', $skipped, true));
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
            return;
        }
        if ($refusal !== '') {
            $model->add_error('validation', $refusal);
            if ($this->ability !== '') {
                $this->discardOrder($model);
            }
        }
    }

    /**
     * Locks the slot of a booking that is about to be saved and checks whether it is free.
     *
     * @param OsBookingModel $booking
     * @param bool $ahead Whether the booking is saved later in this request: it is kept until then.
     * @return string Why the booking must not be saved; '' if it may.
     */
    private function guard($booking, bool $ahead): string
    {
        $before = empty($booking->id) ? null : $this->stored((int) $booking->id);
        if (!$this->occupies($booking, $before)) {
            return '';
        }
        $hold = $ahead ? 0 : $this->holds->of($booking);
        $taken = $this->take($this->rowsToMove($booking, $before));
        if ($hold !== 0 && $taken && $this->holds->spend($hold)) {
            return '';
        }
        if ($hold !== 0 && !$this->lock->taken() && $this->holds->renew($hold)) {
            $this->holds->leave($hold); // without a lock, so that others see the hold until the booking exists
            return '';
        }
        $refusal = $taken ? $this->look($booking) : self::busy();
        if ($refusal === '' && $ahead && !$this->holds->keep([$booking])) {
            $refusal = self::busy();
        }
        if ($refusal !== '') {
            $this->lock->release();
            if ($this->flow === 'payment') {
                $this->lost($booking, $refusal);
            }
        }
        return $refusal;
    }

    private static function busy(): string
    {
        return __('Somebody else is booking at this moment. Please try again.', 'bookside');
    }

    /** Tells of an order that is left without a booking: its customer may have paid. */
    private function lost($booking, string $refusal): void
    {
        $order = (int) (new OsOrderItemModel((int) $booking->order_item_id))->order_id;
        $minutes = (int) $booking->start_time;
        $text = sprintf(
            /* translators: 1: number of an order. 2: a date. 3: a time. 4: why. */
            __('Order %1$d has no booking on %2$s at %3$s: %4$s', 'bookside'),
            $order,
            (string) $booking->start_date,
            sprintf('%02d:%02d', intdiv($minutes, 60), $minutes % 60),
            $refusal
        );
        $this->tell($text);
        /**
         * Fires when an order that was checked out, and probably paid, could not get its booking: the payment took longer than
         * its hold, and somebody else has the slot.
         *
         * @param int $order The order's number.
         * @param OsBookingModel $booking The booking that was not saved.
         * @param string $refusal Why.
         */
        do_action('bookside_slot_lost', $order, $booking, $refusal);
    }

    /** Returns why a booking must not be saved, after looking at its slot under the lock; '' if it may. */
    private function look($booking): string
    {
        $writer = $this->flow === 'payment' ? 'customer' : $this->writer();
        if ($this->free($booking, $writer === 'customer' && empty($booking->id)) && !$this->assets->full($booking, $this->ownHold())) {
            return '';
        }
        $other = $this->overlapping($booking);
        $may = in_array($writer, ['staff', 'other'], true) && bookside_companion_settings()['staff_overbooking'];
        if ($writer !== 'ability') {
            /**
             * Filters whether a booking may be made although its slot is occupied. Abilities never may.
             *
             * @param bool $may Whether it may: for staff, and for programs on the server, as the setting says.
             * @param OsBookingModel $booking The booking that is about to be saved.
             * @param array|null $other The booking that occupies the slot; null for what is not a booking.
             * @param string $writer Who books: staff, customer, rest (REST API) or other (cron, command line).
             */
            $may = (bool) apply_filters('bookside_may_overbook', $may, $booking, $other, $writer);
        }
        $text = $this->explain($other);
        if (!$may) {
            return $text;
        }
        $this->warn($text);
        /** Runs when a booking is made although its slot is occupied. The parameters are those of bookside_may_overbook. */
        do_action('bookside_overbooked', $booking, $other, $writer);
        return '';
    }

    private function explain(?array $other): string
    {
        if ($other === null) {
            return __('This time is not available.', 'bookside');
        }
        $minutes = (int) $other['start_time'];
        return sprintf(
            /* translators: 1: number of a booking. 2: name of a service. 3: a date. 4: a time. */
            __('This time is occupied by booking %1$d: %2$s, %3$s %4$s.', 'bookside'),
            (int) $other['id'],
            (string) $other['service'],
            (string) $other['start_date'],
            sprintf('%02d:%02d', intdiv($minutes, 60), $minutes % 60)
        );
    }

    /** Says who is making a booking: ability, rest, staff, customer or other. */
    private function writer(): string
    {
        if ($this->ability !== '') {
            return 'ability';
        }
        if (defined('REST_REQUEST') && REST_REQUEST) {
            return 'rest';
        }
        if (wp_doing_cron() || PHP_SAPI === 'cli') {
            return 'other';
        }
        return OsAuthHelper::get_current_user()->has_backend_access() ? 'staff' : 'customer';
    }

    /**
     * Shows staff a text below LatePoint's message: its responses are JSON with a message in HTML.
     */
    private function warn(string $text): void
    {
        if ($this->warnings === [] && wp_doing_ajax()) {
            ob_start(function (string $answer): string {
                $decoded = json_decode($answer);
                if (!is_object($decoded) || !is_string($decoded->message ?? null)) {
                    return $answer;
                }
                foreach ($this->warnings as $warning) {
                    $decoded->message .= '<br>' . esc_html($warning);
                }
                return (string) wp_json_encode($decoded);
            });
        }
        if (!in_array($text, $this->warnings, true)) {
            $this->warnings[] = $text;
        }
    }

    /** Reports whether saving a booking occupies what it did not occupy before. */
    private function occupies($booking, ?array $before): bool
    {
        if (empty($booking->start_date) || !$this->blocks((string) $booking->status, (int) $booking->service_id)) {
            return false;
        }
        if ($before === null || !$this->blocks((string) $before['status'], (int) $before['service_id'])) {
            return true;
        }
        foreach (['agent_id', 'service_id', 'location_id', 'start_date', 'start_time', 'end_time', 'duration'] as $column) {
            if ((string) $booking->$column !== (string) $before[$column]) {
                return true;
            }
        }
        return (int) $booking->total_attendees > (int) $before['total_attendees']
            || (int) $booking->buffer_before > (int) $before['buffer_before']
            || (int) $booking->buffer_after > (int) $before['buffer_after'];
    }

    /** Reports whether bookings of a status occupy their slot. An empty one becomes the default of the service. */
    private function blocks(string $status, int $service): bool
    {
        $status = $status !== '' ? $status : OsBookingHelper::get_default_booking_status($service);
        return in_array(strtolower(trim($status)), array_map('strtolower', $this->blockingStatuses()), true);
    }

    /** @return string[] */
    private function blockingStatuses(): array
    {
        return array_filter(array_map('strval', (array) OsBookingHelper::get_timeslot_blocking_statuses()));
    }

    /**
     * Asks LatePoint whether a slot is free, including seats, locations and daily limits.
     *
     * @param OsBookingModel $booking
     * @param bool $hours Whether the slot must be one that customers are offered.
     */
    private function free($booking, bool $hours): bool
    {
        $this->asking = true;
        try {
            $request = \LatePoint\Misc\BookingRequest::create_from_booking_model($booking);
            // LatePoint only shows users of its backend what they may see, and shows others nothing.
            $backend = !$hours && OsAuthHelper::get_current_user()->has_backend_access();
            $settings = [
                'exclude_booking_ids' => empty($booking->id) ? [] : [(int) $booking->id],
                'accessed_from_backend' => $backend,
            ];
            if ($hours) {
                return OsBookingHelper::is_booking_request_available($request, $settings);
            }
            $day = new OsWpDateTime($request->start_date);
            $resources = OsResourceHelper::get_resources_grouped_by_day($request, $day, clone $day, $settings);
            foreach ($resources[$day->format('Y-m-d')] ?? [] as $resource) {
                // Outside of working hours nothing is offered, but bookings may exist.
                $resource->work_time_periods = [
                    new \LatePoint\Misc\TimePeriod(
                        ['start_time' => $request->start_time, 'end_time' => $request->start_time + $request->duration]
                    ),
                ];
                if (!$backend) {
                    $resource->blocked_time_periods = []; // when customers may book
                }
                $resource->build_bookable_slots($request, 1440);
                foreach ($resource->slots as $slot) {
                    return $slot->can_accomodate($request->total_attendees);
                }
            }
        } catch (\TypeError $e) {
            // LatePoint cannot read bookings without an end, which abilities create.
            return $this->overlapping($booking) === null;
        } finally {
            $this->asking = false;
        }
        // Nobody offers this service here, but it is booked nevertheless.
        return $this->overlapping($booking) === null;
    }

    /**
     * Returns the first booking that keeps another one out of its slot, by the rules of LatePoint's calendar: one that takes the
     * agent or the location, otherwise one of the same service without enough seats left.
     */
    private function overlapping($booking): ?array
    {
        $seats = (int) $booking->total_attendees ?: 1;
        $fellow = null;
        foreach ($this->meeting($booking) as $other) {
            if (!$this->shares($booking, $other)) {
                return $other;
            }
            $seats += (int) $other['total_attendees'];
            $fellow = $fellow ?? $other;
        }
        return $fellow !== null && $this->crowded((int) $booking->service_id, $seats, (int) $booking->total_attendees ?: 1) ? $fellow : null;
    }

    /** Reports whether two bookings at a time share the seats of one service. */
    private function shares($booking, array $other): bool
    {
        return (int) $other['agent_id'] === (int) $booking->agent_id && (int) $other['location_id'] === (int) $booking->location_id
            && (int) $other['service_id'] === (int) $booking->service_id;
    }

    /** Reports whether a service lacks the seats for some attendees, of whom the last are not booked yet. */
    private function crowded(int $service, int $seats, int $last): bool
    {
        global $wpdb;
        $row = $wpdb->get_row(
            $wpdb->prepare("SELECT capacity_min, capacity_max FROM `{$wpdb->prefix}latepoint_services` WHERE id = %d", $service),
            ARRAY_A
        );
        $enough = OsMetaHelper::get_service_meta_by_key('block_timeslot_when_minimum_capacity_met', $service, '') === 'on'
            ? max(1, (int) ($row['capacity_min'] ?? 1))
            : PHP_INT_MAX;
        return $seats > max(1, (int) ($row['capacity_max'] ?? 1)) || $seats - $last >= $enough;
    }

    /**
     * Returns the bookings that overlap another one at its agent or, if that matters, at its location, those that take it entirely
     * first. One that runs past midnight occupies both days; buffers alone do not extend past midnight. All as in the sidecar.
     */
    private function meeting($booking): array
    {
        global $wpdb;
        $statuses = $this->blockingStatuses();
        if ($statuses === []) {
            return [];
        }
        $bookings = $wpdb->prefix . 'latepoint_bookings';
        $services = $wpdb->prefix . 'latepoint_services';
        $day = (string) $booking->start_date;
        $start = (int) $booking->start_time;
        $end = $start + (int) $booking->get_total_duration();
        $stored = self::END;
        [$agent, $service, $location] = [(int) $booking->agent_id, (int) $booking->service_id, (int) $booking->location_id];
        $where = [$agent, $location];
        $place = 'b.location_id = %d';
        if (OsSettingsHelper::is_on('multiple_services_at_time')) {
            $place .= ' AND b.service_id = %d';
            $where[] = $service;
        }
        if (OsSettingsHelper::is_on('one_location_at_time')) {
            $place .= ' OR b.location_id <> %d';
            $where[] = $location;
        }
        $place = "b.agent_id = %d AND ($place)";
        if (OsSettingsHelper::is_on('one_agent_at_location')) {
            $place .= ' OR b.agent_id <> %d AND b.location_id = %d';
            array_push($where, $agent, $location);
        }
        return $wpdb->get_results(
            $wpdb->prepare(
                'SELECT b.id, b.agent_id, b.service_id, b.location_id, b.start_date, b.start_time, b.total_attendees, COALESCE(s.name, \'\') AS service '
                . "FROM `$bookings` b LEFT JOIN `$services` s ON s.id = b.service_id "
                . "WHERE b.start_date BETWEEN DATE_SUB(%s, INTERVAL 1 DAY) AND DATE_ADD(%s, INTERVAL 1 DAY) AND b.id <> %d AND ($place) "
                . 'AND b.status IN (' . implode(', ', array_fill(0, count($statuses), '%s')) . ') '
                . 'AND 1440 * DATEDIFF(b.start_date, %s) + GREATEST(b.start_time - COALESCE(b.buffer_before, 0), 0) < %d '
                . "AND 1440 * DATEDIFF(b.start_date, %s) + LEAST($stored + COALESCE(b.buffer_after, 0), 1440 * CEIL(($stored) / 1440)) > %d "
                . 'ORDER BY b.agent_id = %d AND b.location_id = %d AND b.service_id = %d, b.start_time, b.id LIMIT 1000',
                array_merge(
                    [$day, $day, (int) $booking->id],
                    $where,
                    $statuses,
                    [
                        $day,
                        min($end + (int) $booking->buffer_after, 1440 * (int) ceil($end / 1440)),
                        $day,
                        max($start - (int) $booking->buffer_before, 0),
                        $agent,
                        $location,
                        $service,
                    ]
                )
            ),
            ARRAY_A
        ) ?: [];
    }

    /** Returns the columns of a booking's row that say what it occupies; null if there is none. */
    private function stored(int $id): ?array
    {
        global $wpdb;
        return $wpdb->get_row(
            $wpdb->prepare(
                'SELECT status, agent_id, service_id, location_id, start_date, start_time, end_time, duration, buffer_before, '
                . "buffer_after, total_attendees FROM `{$wpdb->prefix}latepoint_bookings` WHERE id = %d",
                $id
            ),
            ARRAY_A
        );
    }

    /** Returns the rows of the lock table for a booking that is saved: of its old slot and of its new one. */
    private function rowsToMove($booking, ?array $before): array
    {
        $rows = [$this->rowsOf($booking)];
        if ($before !== null) {
            $rows[] = [BooksideLock::BOOKING => [BooksideLock::row(BooksideLock::BOOKING, (int) $booking->id)]];
            $rows[] = $this->rowsOf((object) $before);
        }
        return BooksideLock::join(...$rows);
    }

    /**
     * Returns the rows of the lock table for a slot: its agent, its location if only one agent may use it at a time,
     * its service if the bookings of a day are limited, and the assets that it takes; those of all candidates if any will do.
     *
     * @param object $slot A booking, or something with the same ids.
     */
    private function rowsOf($slot): array
    {
        global $wpdb;
        $service = (int) $slot->service_id;
        $agents = [(int) $slot->agent_id];
        $locations = [(int) $slot->location_id];
        if (!$agents[0] || !$locations[0]) { // any agent or any location: their ids are words
            $offers = $wpdb->get_results(
                $wpdb->prepare(
                    "SELECT agent_id, location_id FROM `{$wpdb->prefix}latepoint_agents_services` WHERE service_id = %d",
                    $service
                )
            );
            $offers = array_filter($offers, static function ($offer) use ($agents, $locations): bool {
                return (!$agents[0] || $agents[0] === (int) $offer->agent_id)
                    && (!$locations[0] || $locations[0] === (int) $offer->location_id);
            });
            $agents = array_column($offers, 'agent_id');
            $locations = array_column($offers, 'location_id');
        }
        $rows = [BooksideLock::AGENT => $agents, BooksideLock::ASSET => $this->assets->ids($service, $agents)];
        if (OsSettingsHelper::is_on('one_agent_at_location')) {
            $rows[BooksideLock::LOCATION] = $locations;
        }
        if ((int) OsMetaHelper::get_service_meta_by_key('max_bookings_per_day', $service, 0) !== 0) {
            $rows[BooksideLock::SERVICE] = [$service];
        }
        return $rows;
    }

    /** Takes rows, and makes sites with several database servers read from the one that is written to. */
    private function take(array $rows): bool
    {
        global $wpdb;
        if (method_exists($wpdb, 'send_reads_to_masters')) {
            $wpdb->send_reads_to_masters();
        }
        return $this->lock->take($rows);
    }

    /**
     * Lets others continue when a booking has its row.
     *
     * @param OsModel $model
     */
    public function saved($model): void
    {
        if (!$model instanceof OsBookingModel) {
            return;
        }
        if ($this->lock->taken()) {
            try {
                $this->assets->store($model);
            } catch (\Throwable $e) {
                bookside_companion_failed('lock', $e->getMessage());
            }
        }
        if ($this->flow === '' || $this->flow === 'payment') {
            $this->lock->release(); // bookings still to be saved have holds
        }
        if ($this->flow === 'reschedule' || ($this->flow !== '' && --$this->unsaved < 1)) {
            $this->end();
        }
    }

    /** Releases the lock, and gives back what was kept. */
    public function end(): void
    {
        $this->lock->release();
        $this->holds->drop();
        $this->flow = '';
        $this->refused = false;
        $this->cart = [];
        $this->looked = null;
        $this->statusQuery = '';
    }

    /** @param string $name */
    public function beginAbility($name): void
    {
        if (strpos((string) $name, 'latepoint/') === 0) {
            $this->ability = (string) $name;
        }
    }

    public function endAbility(): void
    {
        $this->ability = '';
        $this->end();
    }

    /** Deletes the order that an ability made for a booking which it was refused then. */
    private function discardOrder($booking): void
    {
        if (!empty($booking->id) || empty($booking->order_item_id)) {
            return;
        }
        try {
            $item = new OsOrderItemModel((int) $booking->order_item_id);
            $order = new OsOrderModel((int) $item->order_id);
            if (!empty($order->id) && count($order->get_items(true)) === 1 && !(new OsBookingModel())->where(['order_item_id' => $item->id])->count()) {
                $order->delete();
            }
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
        }
    }

    /**
     * Checks a change that only affects the status, for which LatePoint has no other hook, and refuses it by returning ''.
     *
     * @param string $query A statement that updates bookings.
     */
    public function statusChange(string $query): string
    {
        global $wpdb;
        if (
            $this->asking || stripos($query, 'start_date') !== false
            || !preg_match(self::STATUS_CHANGE, $query, $parts)
            || !$this->blocks($parts[1], 0)
        ) {
            return $query;
        }
        try {
            $booking = new OsBookingModel((int) $parts[2]);
            $before = (string) $booking->status;
            $booking->status = $parts[1];
            $refusal = empty($booking->id) || $this->blocks($before, (int) $booking->service_id) ? '' : $this->guard($booking, false);
        } catch (\Throwable $e) {
            bookside_companion_failed('lock', $e->getMessage());
            return $query;
        }
        if ($refusal !== '') {
            $wpdb->last_error = $refusal;
            return '';
        }
        $this->statusQuery = $query;
        return $query;
    }

    /** Releases the lock of a change of status that has run. */
    public function queryRan(string $last): void
    {
        if ($this->statusQuery !== '' && $this->statusQuery === $last) {
            $this->statusQuery = '';
            if ($this->flow === '' || $this->flow === 'payment') {
                $this->lock->release();
            }
        }
    }
}
