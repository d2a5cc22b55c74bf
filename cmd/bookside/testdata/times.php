<?php

/** Returns the starts of each day that LatePoint offers: of a service and an agent, 0 for any, from a day to a day. */
function test_times(array $asked): object
{
    [$id, $agent, $from, $to] = $asked;
    $service = new OsServiceModel($id);
    $request = new LatePoint\Misc\BookingRequest([
        'start_date' => $from, 'duration' => (int) $service->duration, 'total_attendees' => 1,
        'buffer_before' => (int) $service->buffer_before, 'buffer_after' => (int) $service->buffer_after,
        'service_id' => $id, 'agent_id' => (int) $agent, 'location_id' => 0,
    ]);
    $days = [];
    foreach (OsResourceHelper::get_resources_grouped_by_day($request, new OsWpDateTime($from), new OsWpDateTime($to)) as $day => $resources) {
        $times = [];
        foreach (OsResourceHelper::get_ordered_booking_slots_from_resources($resources) as $slot) {
            if ($slot->can_accomodate(1)) {
                $times[] = sprintf('%02d:%02d', intdiv($slot->start_time, 60), $slot->start_time % 60);
            }
        }
        $days[$day] = array_values(array_unique($times));
    }
    return (object) $days;
}
