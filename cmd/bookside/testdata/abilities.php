<?php

if (!function_exists('wp_get_ability')) {
    /** A stand-in for an ability of LatePoint in WordPress 6.9, for earlier versions. */
    class TestAbility
    {
        private string $name;
        private array $args;

        public function __construct(string $name)
        {
            $this->name = $name;
            $this->args = apply_filters('wp_register_ability_args', ['execute_callback' => [$this, 'run']], $name);
        }

        public function execute(array $input)
        {
            if ($this->name !== 'latepoint/get-available-slots' && !OsAuthHelper::get_current_user()->has_backend_access()) {
                return new WP_Error('ability_invalid_permissions', 'Not allowed.');
            }
            do_action('wp_before_execute_ability', $this->name, $input);
            return call_user_func($this->args['execute_callback'], $input);
        }

        /** Lists times, or books without looking at working hours, as LatePoint does. */
        public function run(array $input): array
        {
            if ($this->name === 'latepoint/get-available-slots') {
                return ['slots' => apply_filters('latepoint_get_available_slots', [], $input)];
            }
            $booking = new OsBookingModel();
            foreach ($input + ['end_date' => $input['start_date'], 'status' => 'approved', 'duration' => 15] as $column => $value) {
                $booking->$column = $value;
            }
            $booking->save();
            return $this->serialize_booking($booking);
        }

        public function serialize_booking(OsBookingModel $booking): array
        {
            global $wpdb;
            $tables = $wpdb->prefix . 'latepoint_';
            $notes = $wpdb->get_var($wpdb->prepare(
                "SELECT o.customer_comment FROM {$tables}orders o JOIN {$tables}order_items i ON i.order_id = o.id WHERE i.id = %d",
                $booking->order_item_id
            ));
            $numbers = ['id', 'customer_id', 'agent_id', 'service_id', 'location_id', 'start_time', 'end_time', 'duration'];
            return array_map('intval', array_intersect_key(get_object_vars($booking), array_flip($numbers)))
                + ['status' => $booking->status, 'start_date' => $booking->start_date, 'notes' => (string) $notes];
        }
    }

    function wp_get_ability(string $name): TestAbility
    {
        return new TestAbility($name);
    }
}

/** Executes an ability of LatePoint as a user, '' for a visitor, and returns what an AI agent gets. */
function test_execute(string $user, string $ability, array $input): array
{
    wp_set_current_user($user === '' ? 0 : get_user_by('login', $user)->ID);
    $found = wp_get_ability('latepoint/' . $ability)->execute($input);
    return is_wp_error($found)
        ? ['code' => $found->get_error_code(), 'message' => $found->get_error_message(), 'data' => (object) ($found->get_error_data() ?: [])]
        : ['found' => $found];
}

/** Returns the status and the body with which REST answers an ability of a user. */
function test_run(string $user, string $ability, array $input): array
{
    wp_set_current_user(get_user_by('login', $user)->ID);
    if (class_exists('WP_REST_Abilities_V1_Run_Controller')) {
        $request = new WP_REST_Request('POST', '/wp-abilities/v1/abilities/latepoint/' . $ability . '/run');
        $request->set_header('Content-Type', 'application/json');
        $request->set_body(wp_json_encode(['input' => $input]));
        $response = rest_do_request($request);
    } else {
        $response = rest_convert_error_to_response(wp_get_ability('latepoint/' . $ability)->execute($input));
    }
    return ['status' => $response->get_status(), 'body' => $response->get_data()];
}
