<?php

/**
 * Requests to the API server, for pages of its console and for the state of the site.
 *
 * @package Bookside
 */

namespace Bookside;

defined('ABSPATH') || exit;

/**
 * Asks the server. The question is signed with the secret that both read from a table of ours, and valid once, within a minute and
 * for this site; the server checks it in adapter/extensions. So is the answer: what anybody else answers is not shown as a page.
 *
 * @param array<string,mixed> $question
 * @return array<string,mixed>|\WP_Error
 */
function ask_server(string $path, array $question)
{
    $address = settings()['admin'];
    if ($address === '') {
        return new \WP_Error('bookside_server', __('Under LatePoint, API, Settings, enter the address of its administration: "admin.listen" in its configuration.', 'bookside'));
    }
    $secret = \BooksideAsk::secret();
    $site = \BooksideAsk::fingerprint();
    if ($secret === '' || $site === '') {
        return new \WP_Error('bookside_tables', __('The tables of Bookside are missing. Its server creates them when it first starts: run "bookside serve".', 'bookside'));
    }
    $target = '/wordpress' . $path;
    $body = (string) wp_json_encode($question);
    $at = time();
    $nonce = bin2hex(random_bytes(16));
    $signed = implode("\n", ['bookside 1', 'server', $site, 'POST', $target, hash('sha256', $body), $at, $nonce]);
    // WordPress may be told to contact nobody, which excepts localhost, but not 127.0.0.1.
    $response = wp_remote_post(preg_replace('#^(https?://)127\.0\.0\.1(?=[:/]|$)#', '$1localhost', $address) . $target, [
        'body' => $body, 'timeout' => 20, 'redirection' => 0, 'sslverify' => true, 'limit_response_size' => 4 * MB_IN_BYTES,
        'headers' => ['X-Bookside-Signature' => "$at.$nonce." . hash_hmac('sha256', $signed, $secret), 'Content-Type' => 'application/json'],
    ]);
    if (is_wp_error($response)) {
        return new \WP_Error('bookside_server', away_text($response->get_error_message()));
    }
    $text = wp_remote_retrieve_body($response);
    $answer = json_decode($text, true);
    $status = (int) wp_remote_retrieve_response_code($response);
    $ours = hash_hmac('sha256', implode("\n", ['bookside 1 answer', $nonce, $status, hash('sha256', $text)]), $secret);
    $signature = wp_remote_retrieve_header($response, 'X-Bookside-Signature');
    if (is_array($answer) && is_string($signature) && hash_equals($ours, $signature) && !isset($answer['message'])) {
        return $answer;
    }
    if (is_array($answer) && is_string($answer['message'] ?? null)) { // a refusal
        return new \WP_Error('bookside_refused', translate($answer['message'], 'bookside')); // phpcs:ignore -- the server has the text
    }
    return new \WP_Error('bookside_server', away_text(__('Something else answers at its address, or another version of the server.', 'bookside')));
}

/** Returns what to do if the server does not answer. */
function away_text(string $problem): string
{
    return sprintf(
        /* translators: 1: an address. 2: an error message. */
        __('It was asked at %1$s: %2$s. Start it with "systemctl start bookside", or correct the address under LatePoint, API, Settings.', 'bookside'),
        settings()['admin'],
        rtrim($problem, '.')
    );
}
