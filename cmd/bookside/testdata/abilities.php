<?php

/** Executes an ability of LatePoint as a user, '' for a visitor, and returns what an AI agent gets. */
function test_execute(string $user, string $ability, array $input): array
{
    wp_set_current_user($user === '' ? 0 : get_user_by('login', $user)->ID);
    $found = wp_get_ability('latepoint/' . $ability)->execute($input);
    return is_wp_error($found)
        ? ['code' => $found->get_error_code(), 'message' => $found->get_error_message(), 'data' => (object) ($found->get_error_data() ?: [])]
        : ['found' => $found];
}

/** Executes an ability by REST, as a user, and returns the status and the body. */
function test_run(string $user, string $ability, array $input): array
{
    wp_set_current_user(get_user_by('login', $user)->ID);
    $request = new WP_REST_Request('POST', '/wp-abilities/v1/abilities/latepoint/' . $ability . '/run');
    $request->set_header('Content-Type', 'application/json');
    $request->set_body(wp_json_encode(['input' => $input]));
    $response = rest_do_request($request);
    return ['status' => $response->get_status(), 'body' => $response->get_data()];
}
