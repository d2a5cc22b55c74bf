<?php

/**
 * LatePoint's abilities for AI agents, which look at no calendar, and tell nobody.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/**
 * Lets the abilities that book, and the one that lists free times, do it through the server, if the settings say so. Who may use them,
 * and the schemas of their input and output, stay as LatePoint has them. The server knows what the user's role is limited to.
 */
class Abilities
{
    private const BOOKS = 'latepoint/create-booking';
    private const LISTS = 'latepoint/get-available-slots';

    /** Those that change a booking, with the status that they set; '' if they are told what to change. */
    private const CHANGES = [
        'latepoint/update-booking' => '',
        'latepoint/reschedule-booking' => '',
        'latepoint/change-booking-status' => '',
        'latepoint/approve-booking' => 'approved',
        'latepoint/cancel-booking' => 'cancelled',
    ];

    private const TIMEOUT = 30; // seconds, more than the server needs to report its own timeout

    /** @var \WP_Error|null Why the last request for free times has none. */
    private static ?\WP_Error $problem = null;

    public static function register(): void
    {
        add_filter('wp_register_ability_args', [self::class, 'replace'], 10, 2);
        add_filter('latepoint_get_available_slots', [self::class, 'slots'], 10, 2);
    }

    /**
     * Replaces what an ability does.
     *
     * @param array<string,mixed> $args As LatePoint registers it.
     * @param string $name
     */
    public static function replace($args, $name)
    {
        if (!settings()['abilities'] || !is_array($args) || !isset($args['execute_callback'])) {
            return $args;
        }
        $own = $args['execute_callback'];
        if ($name === self::LISTS) {
            $args['execute_callback'] = static function ($input) use ($own) {
                self::$problem = null;
                $found = call_user_func($own, (array) $input);
                return self::$problem ?? $found;
            };
        } elseif ($name === self::BOOKS || isset(self::CHANGES[$name])) {
            $args['execute_callback'] = static function ($input) use ($own, $name) {
                $id = $name === self::BOOKS ? self::book((array) $input) : self::change((array) $input, self::CHANGES[$name]);
                return is_wp_error($id) ? $id : self::described($own, $id);
            };
        }
        return $args;
    }

    /**
     * Returns the free times of a day, as visitors see them. LatePoint asks for them and has none itself.
     *
     * @param mixed $slots
     * @param mixed $input Of the ability.
     */
    public static function slots($slots, $input)
    {
        if (!settings()['abilities'] || !is_array($input)) {
            return $slots;
        }
        $service = (int) ($input['service_id'] ?? 0);
        if ((new \OsServiceModel($service))->is_hidden() && !\OsAuthHelper::get_current_user()->has_backend_access()) {
            self::$problem = self::refused('not_found', __('There is no such service.', 'bookside'), 404, 'service_id');
            return [];
        }
        $agent = (int) ($input['agent_id'] ?? 0);
        $duration = (int) ($input['duration'] ?? 0);
        $query = ['service_id' => $service, 'agent_id' => $agent ?: 'any', 'date' => (string) ($input['date'] ?? '')]
            + (empty($input['location_id']) ? [] : ['location_id' => (int) $input['location_id']])
            + ($duration === 0 ? [] : ['duration' => $duration, 'any_duration' => 1]); // any booking may have one
        $answer = self::ask('/availability?' . http_build_query($query, '', '&'));
        if (is_wp_error($answer)) {
            self::$problem = $answer;
            return [];
        }
        return array_map(static function (array $slot) use ($agent): array {
            return ['start_time' => self::minutes($slot['start_time']), 'end_time' => self::minutes($slot['end_time']), 'agent_id' => $agent];
        }, $answer['data']['slots'] ?? []);
    }

    /** @return int|\WP_Error The id of the new booking. */
    private static function book(array $input)
    {
        $refusal = self::outsideRole($input) ?? self::otherCustomer((int) $input['customer_id']);
        if ($refusal !== null) {
            return $refusal;
        }
        $sent = ['customer_id' => (int) $input['customer_id'], 'status' => $input['status'] ?? 'approved', 'send_confirmation' => true]
            + self::fields($input, (int) $input['start_time']) + ['agent_id' => 'any'];
        return self::write('/bookings', $sent);
    }

    /** @return int|\WP_Error The id of the booking. */
    private static function change(array $input, string $status)
    {
        $booking = new \OsBookingModel((int) $input['id']);
        if (empty($booking->id)) {
            return self::refused('not_found', __('There is no such booking.', 'bookside'), 404, 'id');
        }
        if (!\OsRolesHelper::can_user_make_action_on_model_record($booking, 'edit')) {
            return self::refused('forbidden', __('You are not allowed to change this booking.', 'bookside'), 403, 'id');
        }
        $refusal = self::outsideRole($input);
        if ($refusal !== null) {
            return $refusal;
        }
        $sent = ($status === '' ? [] : ['status' => $status]) + self::fields($input, (int) $booking->start_time);
        return $sent === [] ? (int) $booking->id : self::write('/bookings/' . (int) $booking->id, $sent + ['send_notification' => true]);
    }

    /**
     * Returns the fields of the API for the input of an ability.
     *
     * @param int $start Of the booking, in minutes, if the input has none.
     */
    private static function fields(array $input, int $start): array
    {
        $fields = array_intersect_key($input, array_flip(['service_id', 'start_date', 'status', 'notes']));
        foreach (['agent_id', 'location_id'] as $name) {
            if (!empty($input[$name])) {
                $fields[$name] = (int) $input[$name];
            }
        }
        if (isset($input['start_time']) || !empty($input['end_time'])) {
            $start = (int) ($input['start_time'] ?? $start);
            $fields['start_time'] = sprintf('%02d:%02d', intdiv($start, 60), $start % 60);
        }
        if (!empty($input['end_time'])) {
            $fields['duration'] = (int) $input['end_time'] - $start;
        }
        return $fields;
    }

    /** Returns the refusal of an agent, a service or a location that the user's role does not include; null if there is nothing to refuse. */
    private static function outsideRole(array $input): ?\WP_Error
    {
        foreach (self::limits() as $kind => $ids) {
            if ($ids === [] || (!empty($input[$kind . '_id']) && !in_array((int) $input[$kind . '_id'], $ids, true))) {
                return self::refused('forbidden', __('Your role does not include this agent, service or location.', 'bookside'), 403, $kind . '_id');
            }
        }
        return null;
    }

    /** Returns the refusal of a customer who has only booked agents that the user's role does not include; null if there is nothing to refuse. */
    private static function otherCustomer(int $id): ?\WP_Error
    {
        global $wpdb;
        $agents = self::limits()['agent'] ?? [];
        if ($agents === []) {
            return null;
        }
        $theirs = 'SELECT MAX(agent_id IN (' . implode(', ', $agents) . ')) FROM ' . platform_table('bookings') . ' WHERE customer_id = %d';
        $own = $wpdb->get_var($wpdb->prepare($theirs, $id)) ?? '1'; // a new customer is anybody's
        return $own === '0' ? self::refused('forbidden', __('You are not allowed to book for this customer.', 'bookside'), 403, 'customer_id') : null;
    }

    /**
     * Returns what the user's role is limited to.
     *
     * @return array<string,int[]> Ids by agent, service and location; those that are not limited are left out.
     */
    private static function limits(): array
    {
        $user = \OsAuthHelper::get_current_user();
        $limits = [];
        // The services and locations of an agent are those that the agent offers, whatever was booked before.
        foreach ($user->backend_user_type === LATEPOINT_USER_TYPE_AGENT ? ['agent'] : ['agent', 'service', 'location'] as $kind) {
            if (!$user->are_all_records_allowed($kind)) {
                $limits[$kind] = array_map('intval', (array) $user->get_allowed_records($kind));
            }
        }
        return $limits;
    }

    /**
     * Sends a booking to the server.
     *
     * @return int|\WP_Error The id of the booking.
     */
    private static function write(string $path, array $fields)
    {
        $form = ['user' => (string) get_current_user_id(), 'content' => (string) wp_json_encode($fields)];
        foreach (['agent', 'service', 'location'] as $kind) {
            $ids = self::limits()[$kind] ?? [];
            $form[$kind . 's'] = $ids === [] ? 'any' : implode(',', $ids); // nothing at all was refused before
        }
        $answer = self::ask($path, $form);
        return is_wp_error($answer) ? $answer : (int) ($answer['data']['id'] ?? 0);
    }

    /**
     * Asks the server for an operation of the API.
     *
     * @return array<string,mixed>|\WP_Error The response, or what was wrong with the request.
     */
    private static function ask(string $path, ?array $form = null)
    {
        $gate = \BooksideGate::before(settings()['admin']); // a hanging server must not occupy all processes of PHP
        if ($gate !== null && $gate->enter() !== '') {
            return self::unavailable(false);
        }
        $said = ask_server($path, $form, self::TIMEOUT);
        $late = is_wp_error($said) && strpos($said->get_error_message(), 'cURL error 28') !== false;
        if ($gate !== null) {
            if ($late) {
                $gate->timedOut();
            } else {
                $gate->answered('');
            }
            $gate->leave();
        }
        if (is_wp_error($said)) {
            bookside_companion_failed('abilities', $said->get_error_message());
            return self::unavailable($form !== null && !empty($said->get_error_data()['sent']));
        }
        $answer = is_array($said['answer'] ?? null) ? $said['answer'] : [];
        return (int) ($said['status'] ?? 500) < 300 ? $answer : self::refusal((int) ($said['status'] ?? 500), $answer, $form !== null);
    }

    /** Returns the error for a server that does not answer. Whoever uses an ability need not know more; the page of the API does. */
    private static function unavailable(bool $perhaps): \WP_Error
    {
        $text = $perhaps
            ? __('The server of the booking API did not answer in time. Look at the booking before you try again, because it may have been saved.', 'bookside')
            : __('The server of the booking API does not answer at the moment. Nothing was saved.', 'bookside');
        return new \WP_Error('bookside_unavailable', $text, ['status' => 503]);
    }

    /** Returns a refusal of the API as an error: with its message, and the field of the input that is wrong. */
    private static function refusal(int $status, array $answer, bool $writes): \WP_Error
    {
        $error = is_array($answer['error'] ?? null) ? $answer['error'] : $answer + ['details' => $answer['data']['details'] ?? null];
        $message = (string) ($error['message'] ?? '');
        $details = is_array($error['details'] ?? null) ? $error['details'] : [];
        if (($answer['data']['written'] ?? '') === 'unknown') {
            return self::unavailable(true);
        }
        $data = ['status' => $status];
        if (isset($details['available_slots'])) {
            $data['available_slots'] = array_map([self::class, 'minutes'], $details['available_slots']);
            $free = implode(', ', $data['available_slots']) ?: __('none', 'bookside');
            /* translators: 1: an error message. 2: numbers. */
            $message = sprintf(__('%1$s. Free starts on that day, in minutes from midnight: %2$s', 'bookside'), rtrim($message, '.'), $free);
        } elseif ($status < 500) {
            $fields = array_filter($details, 'is_string');
            if ($writes && isset($fields['duration'])) { // computed from the end
                $fields += ['end_time' => $fields['duration']];
                unset($fields['duration']);
            }
            $texts = array_map(static function (string $field, string $text): string {
                return "$field: $text";
            }, array_keys($fields), $fields);
            $message .= $texts === [] ? '' : ': ' . implode('; ', $texts);
            $data += $texts === [] ? [] : ['fields' => $fields];
        }
        return new \WP_Error((string) ($error['code'] ?? 'bookside'), $message, $data);
    }

    private static function refused(string $code, string $message, int $status, string $field): \WP_Error
    {
        return new \WP_Error($code, $message, ['status' => $status, 'fields' => [$field => $message]]);
    }

    /** Returns a booking as the ability describes it. */
    private static function described($own, int $id)
    {
        global $wpdb;
        if (method_exists($wpdb, 'send_reads_to_masters')) {
            $wpdb->send_reads_to_masters();
        }
        if (!is_array($own) || !is_callable([$own[0], 'serialize_booking'])) {
            return self::refused('bookside_version', __('The booking was saved, but this version of LatePoint cannot describe it.', 'bookside'), 500, 'id');
        }
        return $own[0]->serialize_booking(new \OsBookingModel($id));
    }

    /** Returns the minutes from midnight of a time such as 09:30. */
    private static function minutes(string $time): int
    {
        [$hours, $minutes] = array_map('intval', explode(':', $time . ':0'));
        return 60 * $hours + $minutes;
    }
}
