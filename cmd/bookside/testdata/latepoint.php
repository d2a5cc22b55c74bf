<?php

/**
 * Plugin Name: LatePoint
 * Description: A stand-in for tests: it books as LatePoint does as far as its hooks, their order and its tables go.
 */

namespace LatePoint\Misc {

    class Properties
    {
        public function __construct(array $values = [])
        {
            foreach ($values as $name => $value) {
                if (property_exists($this, $name)) {
                    $this->$name = $value;
                }
            }
        }
    }

    class Filter extends Properties
    {
        public ?string $date_from = null;
        public ?string $date_to = null;
    }

    class TimePeriod extends Properties
    {
        public int $start_time = 0;
        public int $end_time = 0;
    }

    class BlockedPeriod extends Properties
    {
        public string $start_date = '';
        public string $end_date = '';
        public int $start_time = 0;
        public int $end_time = 0;
        public ?int $agent_id = 0;
    }

    class BookedPeriod extends BlockedPeriod
    {
        public int $buffer_before = 0;
        public int $buffer_after = 0;
        public int $total_attendees = 1;
        public ?int $service_id = 0;
        public ?int $location_id = 0;

        public static function create_from_booking_model(\OsBookingModel $booking): self
        {
            return new self(get_object_vars($booking));
        }
    }

    class BookingRequest extends Properties
    {
        public ?string $start_date = null;
        public ?int $start_time = 0;
        public ?int $duration = 0;
        public ?int $buffer_before = 0;
        public ?int $buffer_after = 0;
        public ?int $total_attendees = 1;
        public $service_id = 0;
        public $agent_id = 0;
        public $location_id = 0;

        public static function create_from_booking_model(\OsBookingModel $booking): self
        {
            $request = new self(['duration' => $booking->get_total_duration()] + get_object_vars($booking));
            return apply_filters('latepoint_create_booking_request_from_booking_model', $request, $booking);
        }
    }

    class BookingSlot
    {
        public int $start_time = 0;
        public int $max_capacity = 0;
        public int $min_capacity_to_be_blocked = 1;
        public int $booked_capacity = 0;

        public function can_accomodate(int $seats): bool
        {
            return $this->max_capacity - $this->booked_capacity >= $seats;
        }
    }

    class BookingResource
    {
        public int $agent_id = 0;
        public int $service_id = 0;
        public array $work_time_periods = [];
        public array $slots = [];
        public array $booked_time_periods = [];
        public array $blocked_time_periods = [];
        public int $capacity = 1;

        public function build_bookable_slots(BookingRequest $request, int $step): void
        {
            $this->slots = [];
            foreach ($this->work_time_periods as $period) {
                for ($at = $period->start_time; $at <= $period->end_time - $request->duration; $at += $step) {
                    $slot = new BookingSlot();
                    $slot->start_time = $at;
                    $slot->max_capacity = $this->capacity;
                    $first = $at - $request->buffer_before;
                    $last = $at + $request->duration + $request->buffer_after;
                    foreach ($this->booked_time_periods as $booked) {
                        if ($booked->start_time - $booked->buffer_before < $last && $booked->end_time + $booked->buffer_after > $first) {
                            $slot->booked_capacity += $booked->service_id === (int) $request->service_id ? $booked->total_attendees : $this->capacity;
                        }
                    }
                    foreach ($this->blocked_time_periods as $blocked) {
                        if ($blocked->start_time < $last && $blocked->end_time > $first) {
                            $slot->booked_capacity = $this->capacity;
                        }
                    }
                    $this->slots[] = $slot;
                }
            }
        }
    }
}

namespace {

    define('LATEPOINT_VERSION', '5.6.5');
    define('LATEPOINT_ITEM_VARIANT_BOOKING', 'booking');
    define('LATEPOINT_USER_TYPE_AGENT', 'agent');

    class OsWpDateTime extends DateTime
    {
    }

    class OsSettingsHelper
    {
        public static function is_on(string $name): bool
        {
            global $wpdb;
            return 'on' === $wpdb->get_var($wpdb->prepare("SELECT value FROM {$wpdb->prefix}latepoint_settings WHERE name = %s", $name));
        }
    }

    class OsMetaHelper
    {
        public static function get_service_meta_by_key(string $key, $service, $default = false)
        {
            global $wpdb;
            $table = $wpdb->prefix . 'latepoint_service_meta';
            return $wpdb->get_var($wpdb->prepare("SELECT meta_value FROM $table WHERE object_id = %d AND meta_key = %s", $service, $key)) ?? $default;
        }
    }

    class OsAuthHelper
    {
        public static function get_current_user()
        {
            return new class {
                public string $backend_user_type;

                public function __construct()
                {
                    $agent = in_array('latepoint_agent', wp_get_current_user()->roles, true);
                    $this->backend_user_type = $agent ? LATEPOINT_USER_TYPE_AGENT : (current_user_can('manage_options') ? 'admin' : '');
                }

                public function has_backend_access(): bool
                {
                    return $this->backend_user_type !== '';
                }

                public function are_all_records_allowed(string $kind): bool
                {
                    return $this->backend_user_type === 'admin';
                }

                /** Of an agent, their own. */
                public function get_allowed_records(string $kind): array
                {
                    global $wpdb;
                    return $wpdb->get_col($wpdb->prepare("SELECT id FROM {$wpdb->prefix}latepoint_agents WHERE wp_user_id = %d", get_current_user_id()));
                }
            };
        }
    }

    class OsRolesHelper
    {
        public static function can_user_make_action_on_model_record(OsBookingModel $model, string $action): bool
        {
            $user = OsAuthHelper::get_current_user();
            return $user->backend_user_type === 'admin' || in_array($model->agent_id, $user->get_allowed_records('agent'));
        }
    }

    class OsModel
    {
        public $id;
        protected string $table = '';
        protected array $columns = [];
        private ?WP_Error $error = null;

        public function __construct($id = false)
        {
            global $wpdb;
            $row = $id ? $wpdb->get_row($wpdb->prepare("SELECT * FROM {$this->name()} WHERE id = %d", $id), ARRAY_A) : null;
            foreach ($row ?: [] as $column => $value) {
                $this->$column = $value;
            }
        }

        protected function name(): string
        {
            global $wpdb;
            return $wpdb->prefix . 'latepoint_' . $this->table;
        }

        public function get_error()
        {
            return $this->error ?? false;
        }

        public function get_error_messages(): array
        {
            return $this->error ? $this->error->get_error_messages() : [];
        }

        public function add_error($code, $message, $data = ''): void
        {
            $this->error = $this->error ?? new WP_Error();
            $this->error->add($code, is_array($message) ? implode(' ', $message) : $message, $data);
        }

        public function validate($alternative = false, $skipped = []): bool
        {
            $this->error = null;
            do_action('latepoint_model_validate', $this, $alternative, $skipped);
            return !$this->error;
        }

        public function save(): bool
        {
            global $wpdb;
            if (!$this->validate()) {
                return false;
            }
            $now = gmdate('Y-m-d H:i:s');
            $values = ['updated_at' => $now];
            foreach ($this->columns as $column) {
                $values[$column] = $this->$column;
            }
            if ($this->id) {
                $wpdb->update($this->name(), $values, ['id' => $this->id]);
            } else {
                $wpdb->insert($this->name(), $values + ['created_at' => $now]);
                $this->id = $wpdb->insert_id;
            }
            do_action('latepoint_model_save', $this);
            return true;
        }

        public function update_attributes(array $values): bool
        {
            global $wpdb;
            $changed = $wpdb->update($this->name(), $values + ['updated_at' => gmdate('Y-m-d H:i:s')], ['id' => $this->id]);
            if ($changed === false) {
                $this->add_error('update_error', $wpdb->last_error);
            }
            return $changed !== false;
        }

        public function get_data_vars(bool $again = false): array
        {
            return array_filter(get_object_vars($this), 'is_scalar');
        }

        public function delete(): void
        {
            global $wpdb;
            $wpdb->delete($this->name(), ['id' => $this->id], ['%d']);
            do_action('latepoint_model_deleted', $this, $this->id);
        }
    }

    class OsBookingModel extends OsModel
    {
        public $booking_code;
        public $service_id;
        public $customer_id;
        public $agent_id;
        public $location_id;
        public $buffer_before = 0;
        public $buffer_after = 0;
        public $status;
        public $start_date;
        public $end_date;
        public $start_time;
        public $end_time;
        public $start_datetime_utc;
        public $end_datetime_utc;
        public $duration;
        public $total_attendees = 1;
        public $order_item_id;
        protected string $table = 'bookings';
        protected array $columns = [
            'booking_code', 'service_id', 'customer_id', 'agent_id', 'location_id', 'buffer_before', 'buffer_after', 'status', 'start_date',
            'end_date', 'start_time', 'end_time', 'duration', 'total_attendees', 'order_item_id',
        ];

        public function get_total_duration(): int
        {
            return (int) $this->duration;
        }

        /** Any agent is the first who is free. */
        public function is_bookable(): bool
        {
            if ($this->agent_id === 'any') {
                $this->agent_id = OsBookingHelper::get_any_agent_for_booking_by_rule($this);
            } elseif (!OsBookingHelper::is_booking_request_available(\LatePoint\Misc\BookingRequest::create_from_booking_model($this))) {
                $this->agent_id = false;
            }
            if (!$this->agent_id) {
                $this->add_error('send_to_step', 'not available', 'booking__datepicker');
                return false;
            }
            return $this->validate(false, ['order_item_id', 'status', 'customer_id']);
        }

        public function where(array $conditions): self
        {
            $this->order_item_id = $conditions['order_item_id'];
            return $this;
        }

        public function count(): int
        {
            global $wpdb;
            return (int) $wpdb->get_var($wpdb->prepare("SELECT COUNT(*) FROM {$this->name()} WHERE order_item_id = %d", $this->order_item_id));
        }
    }

    class OsCustomerModel extends OsModel
    {
        public const FIELDS = ['id', 'first_name', 'last_name', 'email', 'phone', 'notes', 'admin_notes'];
        public $first_name;
        public $last_name;
        public $email;
        public $phone;
        public $notes;
        public $admin_notes;
        protected string $table = 'customers';
        protected array $columns = ['first_name', 'last_name', 'email', 'phone', 'notes', 'admin_notes'];
    }

    class OsServiceModel extends OsModel
    {
        public $visibility;
        protected string $table = 'services';

        public function is_hidden(): bool
        {
            return $this->visibility === 'hidden';
        }
    }

    class OsOrderModel extends OsModel
    {
        public $status = 'open';
        public $customer_id;
        public $total = 0;
        public $subtotal = 0;
        public $confirmation_code;
        protected string $table = 'orders';
        protected array $columns = ['status', 'customer_id', 'total', 'subtotal', 'confirmation_code'];

        public function get_items(bool $fresh = false): array
        {
            global $wpdb;
            $table = $wpdb->prefix . 'latepoint_order_items';
            return $wpdb->get_results($wpdb->prepare("SELECT id FROM $table WHERE order_id = %d", $this->id));
        }

        public function delete(): void
        {
            global $wpdb;
            $wpdb->delete($wpdb->prefix . 'latepoint_order_items', ['order_id' => $this->id]);
            parent::delete();
        }
    }

    class OsTransactionModel extends OsModel
    {
        public $order_id;
        public $amount;
        protected string $table = 'transactions';
    }

    class OsOrderItemModel extends OsModel
    {
        public $order_id;
        public $variant = 'booking';
        public $item_data = '{}';
        protected string $table = 'order_items';
        protected array $columns = ['order_id', 'variant', 'item_data'];
    }

    class OsCartModel
    {
        private array $items;

        public function __construct(array $items)
        {
            $this->items = $items;
        }

        public function get_items(): array
        {
            return $this->items;
        }
    }

    class OsCartItemModel
    {
        public string $variant = 'booking';
        private array $values;

        public function __construct(array $values)
        {
            $this->values = $values;
        }

        public function build_original_object_from_item_data(): OsBookingModel
        {
            $booking = new OsBookingModel();
            foreach ($this->values as $column => $value) {
                $booking->$column = $value;
            }
            return $booking;
        }
    }

    class OsOrderIntentModel extends OsModel
    {
        public array $cart = [];
        public $order_id;
        public $payment_data = '';

        public function build_cart_object(): OsCartModel
        {
            return new OsCartModel(array_map(static function (array $values): OsCartItemModel {
                return new OsCartItemModel($values);
            }, $this->cart));
        }

        public function is_bookable(): bool
        {
            foreach ($this->build_cart_object()->get_items() as $item) {
                $booking = $item->build_original_object_from_item_data();
                if (!$booking->is_bookable()) {
                    $this->add_error('send_to_step', $booking->get_error_messages());
                    return false;
                }
            }
            return true;
        }

        public function convert_to_order()
        {
            do_action('latepoint_order_intent_processing', $this);
            if (!$this->is_bookable()) {
                do_action('latepoint_order_intent_new', $this);
                return false;
            }
            try {
                apply_filters('latepoint_process_payment_for_order_intent', [], $this);
            } catch (Exception $e) {
                $this->add_error('order_error', $e->getMessage());
            }
            if ($this->get_error()) {
                do_action('latepoint_order_intent_new', $this);
                return false;
            }
            $order = new OsOrderModel();
            $order->customer_id = $this->cart[0]['customer_id'];
            $order->save();
            do_action('latepoint_order_intent_converted', $this, $order);
            foreach ($this->build_cart_object()->get_items() as $item) {
                $order_item = new OsOrderItemModel();
                $order_item->order_id = $order->id;
                $order_item->save();
                $booking = $item->build_original_object_from_item_data();
                $booking->order_item_id = $order_item->id;
                if ($booking->save()) {
                    do_action('latepoint_booking_created', $booking);
                }
            }
            do_action('latepoint_order_created', $order);
            return $order->id;
        }
    }

    class OsBookingHelper
    {
        public static function get_timeslot_blocking_statuses(): array
        {
            return ['approved'];
        }

        public static function get_default_booking_status($service = false): string
        {
            return 'approved';
        }

        public static function get_any_agent_for_booking_by_rule(OsBookingModel $booking)
        {
            global $wpdb;
            $request = \LatePoint\Misc\BookingRequest::create_from_booking_model($booking);
            $table = $wpdb->prefix . 'latepoint_agents_services';
            foreach (
                $wpdb->get_col(
                    $wpdb->prepare(
                        "SELECT agent_id FROM $table WHERE service_id = %d AND location_id = %d ORDER BY agent_id",
                        $booking->service_id,
                        $booking->location_id
                    )
                ) as $agent
            ) {
                $request->agent_id = (int) $agent;
                if (self::is_booking_request_available($request)) {
                    return (int) $agent;
                }
            }
            return false;
        }

        public static function is_booking_request_available(\LatePoint\Misc\BookingRequest $request, array $settings = []): bool
        {
            $day = new OsWpDateTime($request->start_date);
            foreach (OsResourceHelper::get_resources_grouped_by_day($request, $day, $day, $settings)[$request->start_date] as $resource) {
                foreach ($resource->slots as $slot) {
                    if ($slot->start_time === (int) $request->start_time && $slot->can_accomodate($request->total_attendees)) {
                        return true;
                    }
                }
            }
            return false;
        }
    }

    class OsResourceHelper
    {
        /** Working hours are nine to five. */
        public static function get_resources_grouped_by_day(\LatePoint\Misc\BookingRequest $request, DateTime $from, DateTime $to, array $settings): array
        {
            global $wpdb;
            $day = $from->format('Y-m-d');
            $filter = new \LatePoint\Misc\Filter(['date_from' => $day, 'date_to' => $day]);
            $rows = $wpdb->get_results(
                $wpdb->prepare(
                    "SELECT * FROM {$wpdb->prefix}latepoint_bookings WHERE start_date = %s AND status = 'approved' AND id <> %d",
                    $day,
                    $settings['exclude_booking_ids'][0] ?? 0
                ),
                ARRAY_A
            );
            $periods = array_map(static function (array $row): \LatePoint\Misc\BookedPeriod {
                return new \LatePoint\Misc\BookedPeriod($row);
            }, $rows);
            $resource = new \LatePoint\Misc\BookingResource();
            [$resource->agent_id, $resource->service_id] = [(int) $request->agent_id, (int) $request->service_id];
            foreach (apply_filters('latepoint_get_booked_periods', $periods, $filter) as $period) {
                if ($period->agent_id === (int) $request->agent_id && $period->location_id === (int) $request->location_id) {
                    $resource->booked_time_periods[] = $period;
                }
            }
            $resource->blocked_time_periods = apply_filters('latepoint_blocked_periods_for_range', [$day => []], $filter, false)[$day];
            $table = $wpdb->prefix . 'latepoint_services';
            $resource->capacity = (int) $wpdb->get_var($wpdb->prepare("SELECT capacity_max FROM $table WHERE id = %d", $request->service_id));
            $resource->work_time_periods = [new \LatePoint\Misc\TimePeriod(['start_time' => 540, 'end_time' => 1020])];
            $resource->build_bookable_slots($request, 15);
            return apply_filters('latepoint_get_resources_grouped_by_day', [$day => [$resource]], $request, $from, $to, $settings);
        }
    }

    /** Forms of wp-admin, with fewer fields. */
    class OsOrdersController
    {
        public static function route(): void
        {
            parse_str(wp_unslash($_POST['params']), $parameters);
            switch ($_POST['route_name']) {
                case 'orders__quick_edit':
                    $item = new OsOrderItemModel((new OsBookingModel($parameters['booking_id'] ?? 0))->order_item_id);
                    wp_send_json(['status' => 'success', 'message' => self::form((int) ($parameters['id'] ?? $item->order_id))]);
                    break;
                case 'orders__update':
                    wp_send_json(self::update($parameters));
                    break;
                case 'customers__quick_edit':
                    $customer = new OsCustomerModel($parameters['customer_id']);
                    wp_send_json(['status' => 'success', 'message' => self::fields(['customer' => self::values($customer, OsCustomerModel::FIELDS)])
                        . self::rest('edit_customer_' . $customer->id, 'latepoint_customer_edit_form_after', $customer)]);
                    break;
                case 'customers__update':
                    self::verify('edit_customer_' . $parameters['customer']['id'], $parameters);
                    self::save(new OsCustomerModel($parameters['customer']['id']), $parameters['customer']);
                    wp_send_json(['status' => 'success', 'message' => 'saved']);
            }
        }

        private static function form(int $id): string
        {
            global $wpdb;
            $order = new OsOrderModel($id);
            $values = ['order' => ['id' => $id, 'status' => $order->status, 'customer_id' => $order->customer_id]];
            $values['customer'] = self::values(new OsCustomerModel($order->customer_id), OsCustomerModel::FIELDS);
            $table = $wpdb->prefix . 'latepoint_bookings';
            foreach ($order->get_items() as $item) {
                foreach ($wpdb->get_col("SELECT id FROM $table WHERE order_item_id = {$item->id}") as $booking) {
                    $values['order_items'][$item->id]['bookings'][$booking]
                        = self::values(new OsBookingModel($booking), ['start_date', 'end_date', 'start_time', 'end_time', 'status']);
                }
            }
            return self::fields($values) . self::rest('edit_order_' . $id, 'latepoint_order_quick_edit_form_content_after', $order);
        }

        private static function update(array $parameters): array
        {
            self::verify('edit_order_' . $parameters['order']['id'], $parameters);
            self::save(new OsCustomerModel($parameters['order']['customer_id']), $parameters['customer']);
            foreach ($parameters['order_items'] ?? [] as $item) {
                foreach ($item['bookings'] as $id => $values) {
                    self::save(new OsBookingModel($id), $values);
                }
            }
            return ['status' => 'success', 'message' => 'saved'];
        }

        private static function verify(string $action, array $parameters): void
        {
            if (!wp_verify_nonce($parameters['_wpnonce'] ?? '', $action)) {
                wp_send_json(['status' => 'error', 'message' => 'Invalid Request']);
            }
        }

        private static function save(OsModel $model, array $values): void
        {
            foreach ($values as $name => $value) {
                $model->$name = $value;
            }
            $model->save();
        }

        private static function values(OsModel $model, array $names): array
        {
            return array_intersect_key(get_object_vars($model), array_flip($names));
        }

        private static function fields(array $values, string $prefix = ''): string
        {
            $html = '';
            foreach ($values as $name => $value) {
                $name = $prefix === '' ? $name : "{$prefix}[$name]";
                $html .= is_array($value) ? self::fields($value, $name) : sprintf('<input name="%s" value="%s">', esc_attr($name), esc_attr((string) $value));
            }
            return $html;
        }

        private static function rest(string $action, string $hook, OsModel $model): string
        {
            ob_start();
            do_action($hook, $model);
            return ob_get_clean() . wp_nonce_field($action, '_wpnonce', true, false);
        }
    }

    add_action('wp_ajax_latepoint_route_call', ['OsOrdersController', 'route']);

    class OsProcessJobsHelper
    {
        public static function process_scheduled_jobs(): void
        {
            global $wpdb;
            echo '<div>output that nobody wants</div>';
            $jobs = $wpdb->prefix . 'latepoint_process_jobs';
            $wpdb->query("UPDATE $jobs SET status = 'completed' WHERE status = 'scheduled' AND to_run_after_utc <= UTC_TIMESTAMP()");
        }
    }
}
