<?php

defined('ABSPATH') || exit;

/**
 * Answers the server's signed requests to index.php. The secret is in a table of Bookside, so that only readers of the database can sign.
 * adapter/extensions in Bookside is the other side.
 */
class BooksideAsk
{
    private const HEADER = 'HTTP_X_BOOKSIDE_SIGNATURE';
    private const LIFE = 60; // seconds before and after the time of a request
    private const TIME = 55; // seconds for a response: the server waits a minute

    /** @var array<string,callable(mixed):array> What can be asked. */
    private static array $answers = [];

    /** @var array<string,callable(mixed):bool> What is done before a question is taken. */
    private static array $first = [];

    /** When the server no longer waits for the answer. */
    private static float $until = INF;

    /**
     * Lets the server ask something.
     *
     * @param callable|null $first Is called before the question is taken, until when the server can withdraw it. Unless it returns true, nothing is done.
     */
    public static function about(string $what, callable $answer, ?callable $first = null): void
    {
        self::$answers[$what] = $answer;
        self::$first[$what] = $first ?? '__return_true';
    }

    /** Ends an answer that nobody waits for: before its next part, because what an extension does cannot be broken off. */
    public static function checkTime(): void
    {
        if (microtime(true) > self::$until) {
            throw new RuntimeException('The server no longer waits for the answer.');
        }
    }

    public static function register(): void
    {
        if (isset($_SERVER[self::HEADER]) && ($_SERVER['REQUEST_METHOD'] ?? '') === 'POST') {
            add_action('wp_loaded', [self::class, 'answer'], PHP_INT_MAX);
        }
    }

    /** Answers a request that is signed for this site. Any other one is left to WordPress. */
    public static function answer(): void
    {
        $body = (string) file_get_contents('php://input');
        $secret = self::secret();
        $site = self::fingerprint();
        if ($secret === '' || $site === '' || !preg_match('/^(\d{1,12})\.([0-9a-f]{32})\.([0-9a-f]{64})$/D', (string) $_SERVER[self::HEADER], $parts)) { // phpcs:ignore
            return;
        }
        [, $at, $nonce, $signature] = $parts;
        $target = (string) ($_SERVER['REQUEST_URI'] ?? ''); // phpcs:ignore -- signed as it is
        $signed = implode("\n", ['bookside 1', 'wordpress', $site, 'POST', $target, hash('sha256', $body), $at, $nonce]);
        if (!hash_equals(hash_hmac('sha256', $signed, $secret), $signature) || abs(time() - (int) $at) > self::LIFE) {
            return;
        }
        $question = (array) json_decode($body, true);
        $what = (string) ($question['ask'] ?? '');
        $of = $question['of'] ?? null;
        self::$until = microtime(true) + ((float) ($question['seconds'] ?? 0) ?: INF);
        $about = self::$answers[$what] ?? null;
        $ready = class_exists('OsBookingModel') && ($about === null || (self::$first[$what])($of)); // LatePoint may be switched off: what waits, waits
        if (!self::first($nonce)) {
            return;
        }
        BooksideExtensions::look(); // before anything changes the listeners
        $status = 200;
        ignore_user_abort(true);
        set_time_limit(self::TIME);
        ob_start(); // the output of plugins must not get into the response
        try {
            $answer = $about === null || !$ready ? [] : $about($of);
            $status = $about === null ? 404 : ($ready ? 200 : 503);
        } catch (\Throwable $e) {
            bookside_companion_failed('ask', bookside_companion_describe($e));
            $status = 500;
            $answer = [];
        }
        while (ob_get_level() > 0 && ob_end_clean()) {
            continue;
        }
        $text = (string) wp_json_encode((object) $answer);
        status_header($status);
        header('Content-Type: application/json');
        header('Cache-Control: no-store');
        header('X-Bookside-Signature: ' . hash_hmac('sha256', implode("\n", ['bookside 1 answer', $nonce, $status, hash('sha256', $text)]), $secret));
        echo $text; // phpcs:ignore
        exit;
    }

    /** Returns the secret that WordPress and the server share; '' before a server has made it. */
    public static function secret(): string
    {
        return self::value("SELECT secret FROM `%sbookside_secrets` WHERE name = 'wordpress'");
    }

    /** Returns what tells this site from all others, copies included; '' before a server has drawn it. See adapter/session/fingerprint.go. */
    public static function fingerprint(): string
    {
        global $wpdb;
        $signature = self::value("SELECT signature FROM `%sbookside_change_positions` WHERE name = 'site'");
        if ($signature === '') {
            return '';
        }
        $url = (string) $wpdb->get_var("SELECT option_value FROM $wpdb->options WHERE option_name = 'siteurl'"); // constants and filters may differ
        $database = (string) $wpdb->get_var('SELECT DATABASE()');
        return substr(hash('sha256', implode("\n", [$signature, $url, strtolower($database), $wpdb->options])), 0, 16);
    }

    /** Returns a value of a table of Bookside; '' if there is no such table. */
    private static function value(string $query): string
    {
        global $wpdb;
        $quiet = $wpdb->suppress_errors();
        $value = (string) $wpdb->get_var(sprintf($query, $wpdb->prefix));
        $wpdb->suppress_errors($quiet);
        return $value;
    }

    /** Reports whether a nonce is used for the first time. */
    private static function first(string $nonce): bool
    {
        global $wpdb;
        $table = "`{$wpdb->prefix}bookside_admin_tokens`";
        $wpdb->query("DELETE FROM $table WHERE purpose = 'asked' AND expires_at < UTC_TIMESTAMP() LIMIT 100");
        return 1 === $wpdb->query($wpdb->prepare(
            "INSERT IGNORE INTO $table (token_hash, purpose, expires_at) VALUES (%s, 'asked', UTC_TIMESTAMP() + INTERVAL 5 MINUTE)",
            hash('sha256', 'asked ' . $nonce)
        ));
    }
}
