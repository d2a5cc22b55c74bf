<?php

defined('ABSPATH') || exit;

/**
 * Forwards API requests to the server, for sites whose web server cannot be configured to. A response is only sent to the client
 * once it is complete, so that no client takes a part for the whole.
 */
class BooksideForward
{
    private const API = '/wp-json/latepoint-api/v1';
    private const CONNECT = 2; // seconds
    private const GRACE = 1; // seconds beyond the server's own limit
    private const SLOW = 1024; // bytes a second of a body; a server that is slower ...
    private const SLOW_FOR = 5; // ... for this many seconds has timed out
    private const RETRY = 5; // seconds that clients are asked to wait
    private const LONG = 8000; // bytes of an address that may be too long for the server

    /** Header of forwarded requests. One that comes back is not forwarded again. */
    private const MARK = 'X-Bookside-Forwarded';

    /** Header in which the server tells what BooksideGate::told returns. */
    private const TELLING = 'x-bookside-forwarding';

    /** Headers that belong to one connection, or that the client must not set. */
    private const DROPPED = [
        'connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer',
        'transfer-encoding', 'upgrade', 'cookie', 'content-length', 'expect', 'forwarded', 'x-forwarded-for',
        'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-port', 'x-real-ip',
    ];

    /** Parts of a path that lead out of the API. */
    private const DOTS = '~(?:/|%2f|%5c|\\\\)(?:\.|%2e){1,2}(?:/|%2f|%5c|\\\\|$)~i';

    /** What needs a key: methods by path, with * for a part of it. The GET of a list, which has an error of its own, is called list. */
    private const ROUTES = [
        '/status' => ['GET'],
        '/site' => ['GET'],
        '/bookings' => ['list', 'POST'],
        '/bookings/bulk' => ['POST'],
        '/bookings/*' => ['GET', 'PUT', 'DELETE'],
        '/bookings/*/approve' => ['POST'],
        '/bookings/*/decline' => ['POST'],
        '/bookings/*/cancel' => ['POST'],
        '/holds' => ['POST'],
        '/holds/*' => ['GET', 'DELETE'],
        '/customers' => ['list', 'POST'],
        '/customers/*' => ['GET', 'PUT', 'DELETE'],
        '/agents' => ['list'],
        '/agents/*' => ['GET'],
        '/agents/*/calendar.ics' => ['GET'],
        '/services' => ['list', 'POST'],
        '/services/categories' => ['list'],
        '/services/*' => ['GET', 'PUT'],
        '/locations' => ['list'],
        '/locations/*/calendar.ics' => ['GET'],
        '/availability' => ['GET'],
        '/business-hours' => ['GET', 'PUT'],
        '/time-off' => ['list', 'POST'],
        '/time-off/*' => ['GET', 'DELETE'],
        '/payments' => ['list', 'POST'],
        '/payments/*' => ['GET', 'PUT', 'DELETE'],
        '/orders' => ['list', 'POST'],
        '/orders/*' => ['GET', 'PUT'],
        '/orders/*/invoices' => ['list'],
        '/orders/*/invoices/*' => ['GET', 'PUT'],
        '/orders/*/transactions' => ['list'],
        '/orders/*/transactions/*' => ['GET'],
        '/changes' => ['list'],
        '/coupons' => ['list', 'POST'],
        '/coupons/*' => ['GET', 'PUT', 'DELETE'],
        '/webhooks' => ['list', 'POST'],
        '/webhooks/*' => ['GET', 'PUT', 'DELETE'],
        '/webhooks/*/deliveries' => ['list'],
        '/webhooks/*/test' => ['POST'],
        '/webhooks/*/rotate' => ['POST'],
        '/webhooks/*/replay' => ['POST'],
    ];

    /** @var int The status that arrived; 0 for none yet. */
    private static int $status = 0;

    /** @var string[] The lines of the header that arrived. */
    private static array $lines = [];

    /** @var bool Whether all of the header arrived. */
    private static bool $headed = false;

    /** @var string What the server told about itself. */
    private static string $telling = '';

    /** @var BooksideGate|null What it has locked lasts as long as it is kept here. */
    private static ?BooksideGate $gate = null;

    /** Answers a request to the API by what the server answers. Returns if it is another request, or nobody answers. */
    public static function run(): void
    {
        $base = bookside_companion_settings()['forward'];
        if ($base === '' || PHP_SAPI === 'cli' || wp_installing() || isset($_SERVER['HTTP_X_BOOKSIDE_FORWARDED'])) {
            return;
        }
        [$path, $parameters] = self::target(
            (string) ($_SERVER['REQUEST_URI'] ?? ''), // phpcs:ignore -- sent on as it is
            (string) ($_SERVER['QUERY_STRING'] ?? '') // phpcs:ignore
        );
        if ($path === '') {
            return;
        }
        if (!function_exists('curl_init')) {
            bookside_companion_failed('forward', __('PHP lacks the extension curl.', 'bookside'));
            return;
        }
        self::$gate = BooksideGate::before($base);
        if (self::$gate === null) {
            /* translators: %s: a path. */
            bookside_companion_failed('forward', sprintf(__('PHP cannot keep files in %s. WP_TEMP_DIR in wp-config.php can name another directory.', 'bookside'), BooksideGate::folder()));
            self::unavailable('Requests to the API cannot be forwarded.');
        }
        self::requireKey($path, $parameters, self::$gate->told());
        $refusal = self::$gate->enter();
        if ($refusal !== '') {
            self::unavailable($refusal);
        }
        self::send($base . $path . ($parameters === [] ? '' : '?' . implode('&', $parameters)));
    }

    /**
     * Returns the path and the parameters for the server, as sent; no path for requests that are not for the API.
     *
     * @return array{0:string,1:string[]}
     */
    private static function target(string $uri, string $query): array
    {
        $path = explode('?', $uri, 2)[0];
        $at = strpos($path, self::API);
        $parameters = $query === '' ? [] : explode('&', $query);
        if ($at !== false) {
            $path = substr($path, $at);
        } else {
            $path = '';
            foreach ($parameters as $i => $parameter) {
                if (strncmp($parameter, 'rest_route=', 11) === 0) {
                    $path = '/wp-json' . str_replace('%2F', '/', rawurlencode(urldecode(substr($parameter, 11))));
                    unset($parameters[$i]);
                }
            }
        }
        if (($path !== self::API && strncmp($path, self::API . '/', strlen(self::API) + 1) !== 0) || preg_match(self::DOTS, $path)) {
            return ['', []];
        }
        // A request that waits for changes would occupy a PHP process.
        $parameters = array_filter($parameters, static function (string $parameter): bool {
            return !preg_match('/^wait(=|$)/i', urldecode($parameter));
        });
        return [$path, $parameters];
    }

    /**
     * Refuses a request that has no key in any form, as the server would. The server reports all other problems, which PHP may not
     * know.
     *
     * @param string[] $parameters
     * @param array{timeout:float,key:?string,cors:?bool} $told
     */
    private static function requireKey(string $path, array $parameters, array $told): void
    {
        $headers = array_change_key_case(self::received());
        $method = self::method();
        $overridden = $method === 'POST' && (isset($headers['x-http-method-override']) || preg_grep('/^_method(=|$)/', array_map('urldecode', $parameters)));
        $operation = self::operation($method === 'HEAD' ? 'GET' : $method, (string) preg_replace('~/$~D', '', substr($path, strlen(self::API))));
        $crossOrigin = $told['cors'] !== false && isset($headers['origin']);
        $long = strlen($path) + strlen(implode('&', $parameters)) >= self::LONG;
        $typed = isset($headers['x-ids']) || strpos((string) ($headers['accept'] ?? ''), 'ids') !== false;
        if ($operation === '' || $overridden || $crossOrigin || $long || $typed || self::hasKey($headers, $parameters, $told['key'])) {
            return;
        }
        $id = (string) ($headers['x-request-id'] ?? '');
        $lines = [
            'Cache-Control: no-store',
            'X-Content-Type-Options: nosniff',
            'WWW-Authenticate: Bearer realm="bookside", ApiKey realm="bookside", header="X-API-Key"',
            'X-Request-Id: ' . (preg_match('/^[A-Za-z0-9._-]{1,128}$/D', $id) ? $id : strtoupper(bin2hex(random_bytes(13)))),
            sprintf('Server-Timing: db;dur=0, wait;dur=0, total;dur=%.3F', 1000 * (microtime(true) - (float) ($_SERVER['REQUEST_TIME_FLOAT'] ?? 0))),
        ];
        if ($told['cors']) {
            $lines[] = 'Vary: Origin';
        }
        array_push($lines, 'Vary: Accept');
        self::answer(401, $lines, $operation === 'list'
            ? ['code' => 'rest_forbidden', 'message' => 'Unauthorized', 'data' => ['status' => 401]]
            : ['status' => 'error', 'error' => ['code' => 'unauthorized', 'message' => 'Invalid or missing API key']]);
    }

    /** Returns what ROUTES calls a request; '' if it is not there. */
    private static function operation(string $method, string $path): string
    {
        foreach (self::ROUTES as $route => $methods) {
            $pattern = '~^' . str_replace('\*', '[^/]+', preg_quote($route, '~')) . '$~D';
            $found = array_intersect($method === 'GET' ? ['GET', 'list'] : [$method], $methods);
            if ($found && preg_match($pattern, $path)) {
                return reset($found);
            }
        }
        return '';
    }

    /**
     * Reports whether a request may have a key.
     *
     * @param array<string,string> $headers By names in lower case.
     * @param string[] $parameters
     * @param string|null $name Of the parameter for keys; null if it is not known, so that any may be.
     */
    private static function hasKey(array $headers, array $parameters, ?string $name): bool
    {
        if (trim((string) ($headers['x-api-key'] ?? '')) !== '' || preg_match('/^Bearer\s+\S/i', self::authorization($headers))) {
            return true;
        }
        foreach ($parameters as $parameter) {
            [$of, $value] = array_map('urldecode', explode('=', $parameter, 2) + [1 => '']);
            if (trim($value) !== '' && ($name === null || ($of === $name && $name !== '') || $of === 'api_key')) { // always the parameter of calendars
                return true;
            }
        }
        return false;
    }

    private static function method(): string
    {
        return strtoupper((string) ($_SERVER['REQUEST_METHOD'] ?? 'GET')); // phpcs:ignore
    }

    private static function send(string $url): void
    {
        $request = curl_init($url);
        $answer = fopen('php://temp', 'w+b');
        $method = self::method();
        $body = self::body($method);
        $headers = self::headers(is_array($body));
        curl_setopt_array($request, [
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_NOBODY => $method === 'HEAD',
            CURLOPT_HTTPHEADER => $headers,
            CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_1_1,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_PATH_AS_IS => true,
            CURLOPT_CONNECTTIMEOUT => self::CONNECT,
            CURLOPT_TIMEOUT_MS => (int) (1000 * (self::$gate->told()['timeout'] + self::GRACE)),
            CURLOPT_NOSIGNAL => true,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_PROXY => '',
            CURLOPT_HEADERFUNCTION => [self::class, 'header'],
            CURLOPT_WRITEFUNCTION => static function ($request, string $part) use ($answer): int {
                return (int) fwrite($answer, $part);
            },
        ]);
        if ($body !== '' && $body !== []) {
            curl_setopt($request, CURLOPT_POSTFIELDS, $body);
        }
        $whole = curl_exec($request) && self::$headed; // curl accepts a part of a header as complete
        $late = curl_errno($request) === CURLE_OPERATION_TIMEDOUT;
        if ($whole) {
            self::$gate->answered(self::$telling);
        } elseif ($late) {
            self::$gate->timedOut();
        }
        self::$gate->leave(); // the client may be slow
        if ($whole) {
            self::pass($answer, $method);
        }
        $sent = curl_getinfo($request, CURLINFO_PRETRANSFER_TIME) > 0;
        bookside_companion_failed('forward', curl_error($request) ?: 'The answer broke off.');
        if ($sent) {
            self::fail($late ? 504 : 502);
        } elseif ($late) {
            self::unavailable('The server of the API does not answer at the moment.');
        }
    }

    /**
     * Passes on the server's response.
     *
     * @param resource $answer Its body.
     */
    private static function pass($answer, string $method): void
    {
        self::begin(self::$status);
        foreach (self::$lines as $line) {
            header($line, false);
        }
        if ($method !== 'HEAD' && !in_array(self::$status, [204, 304], true)) {
            header('Content-Length: ' . ftell($answer)); // a chunked response has none
        }
        http_response_code(self::$status); // PHP changes it for some headers
        rewind($answer);
        fpassthru($answer);
        exit;
    }

    /** Answers that the server did not. It may have acted: WordPress must not act as well, nor say that there is no such record. */
    private static function fail(int $status): void
    {
        $message = 'The server of the API did not answer. It may have done what was asked.';
        self::answer($status, ['Cache-Control: no-store', 'X-Content-Type-Options: nosniff'], ['code' => 'bookside_no_answer', 'message' => $message, 'data' => ['status' => $status]]);
    }

    /** Answers that the server was not asked. */
    private static function unavailable(string $message): void
    {
        $data = ['status' => 503] + (in_array(self::method(), ['POST', 'PUT', 'DELETE'], true) ? ['written' => false] : []);
        self::answer(
            503,
            ['Cache-Control: no-store', 'X-Content-Type-Options: nosniff', 'Retry-After: ' . self::RETRY],
            ['code' => 'platform_not_available', 'message' => $message, 'data' => $data]
        );
    }

    /**
     * Answers in place of the server.
     *
     * @param string[] $lines
     */
    private static function answer(int $status, array $lines, array $content): void
    {
        $body = (string) json_encode($content); // phpcs:ignore -- as the server writes it
        self::begin($status);
        foreach (array_merge($lines, ['Content-Type: application/json; charset=UTF-8', 'Content-Length: ' . strlen($body)]) as $line) {
            header($line, strncmp($line, 'Vary:', 5) !== 0); // of which there are several
        }
        http_response_code($status); // PHP changes it for some headers
        echo $body; // phpcs:ignore
        exit;
    }

    /** Begins an answer: nothing that PHP or another plugin had in mind for the answer gets into it. */
    private static function begin(int $status): void
    {
        ini_set('zlib.output_compression', '0'); // phpcs:ignore -- the body is sent as it is
        ini_set('default_mimetype', ''); // phpcs:ignore -- so is the header
        while (ob_get_level() > 0 && ob_end_clean()) {
            continue;
        }
        header_remove();
        http_response_code($status);
    }

    /** Takes a line of the answer's header. */
    public static function header($request, string $line): int
    {
        $text = rtrim($line, "\r\n");
        if (preg_match('~^HTTP/[\d.]+\s+(\d{3})~', $text, $status)) {
            self::$status = (int) $status[1] >= 200 ? (int) $status[1] : 0;
        } elseif (self::$status !== 0 && $text === '') {
            self::$headed = true;
            curl_setopt($request, CURLOPT_LOW_SPEED_LIMIT, self::SLOW); // not earlier: the server may need its time
            curl_setopt($request, CURLOPT_LOW_SPEED_TIME, self::SLOW_FOR);
        } elseif (self::$status !== 0 && strpos($text, ':') !== false) {
            [$name, $value] = explode(':', $text, 2);
            if (strtolower($name) === self::TELLING) {
                self::$telling = trim($value);
            } elseif (!in_array(strtolower(trim($name)), ['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'trailer', 'set-cookie', 'set-cookie2'], true)) { // the API has no cookies, and the site's are not its business
                self::$lines[] = $text;
            }
        }
        return strlen($line);
    }

    /** @return string[] The header lines for the server. */
    private static function headers(bool $multipart): array
    {
        $lines = ['Expect:', 'Accept:'];
        $seen = [];
        foreach (self::received() as $name => $value) {
            $lower = strtolower((string) $name);
            if (in_array($lower, self::DROPPED, true) || ($multipart && $lower === 'content-type')) {
                continue;
            }
            if ($lower === 'accept' && stripos((string) $value, 'text/event-stream') !== false) {
                $value = 'application/json'; // a stream would occupy a PHP process for as long as it lasts
            }
            $seen[$lower] = true;
            $lines[] = "$name: $value";
        }
        if (isset($seen['accept'])) {
            unset($lines[1]);
        }
        if (!$multipart && !isset($seen['content-type'])) {
            $lines[] = 'Content-Type:';
        }
        if (!isset($seen['authorization']) && self::authorization([]) !== '') {
            $lines[] = 'Authorization: ' . self::authorization([]);
        }
        $lines[] = 'X-Forwarded-For: ' . ($_SERVER['REMOTE_ADDR'] ?? ''); // phpcs:ignore
        $lines[] = self::MARK . ': 1';
        $lines[] = 'X-Forwarded-Proto: ' . (is_ssl() ? 'https' : 'http');
        return array_values($lines);
    }

    /**
     * Returns the header Authorization; '' for none.
     *
     * @param array<string,string> $headers By names in lower case.
     */
    private static function authorization(array $headers): string
    {
        if (isset($headers['authorization'])) {
            return (string) $headers['authorization'];
        }
        if (isset($_SERVER['PHP_AUTH_USER'])) {
            return 'Basic ' . base64_encode($_SERVER['PHP_AUTH_USER'] . ':' . ($_SERVER['PHP_AUTH_PW'] ?? '')); // phpcs:ignore
        }
        return (string) ($_SERVER['REDIRECT_HTTP_AUTHORIZATION'] ?? ''); // phpcs:ignore -- CGI hides it
    }

    /** @return array<string,string> The header that the client sent. */
    private static function received(): array
    {
        if (function_exists('getallheaders')) {
            return getallheaders() ?: [];
        }
        $headers = [];
        foreach ($_SERVER as $key => $value) {
            if (strncmp($key, 'HTTP_', 5) === 0) {
                $headers[str_replace('_', '-', substr($key, 5))] = $value;
            } elseif ($key === 'CONTENT_TYPE') {
                $headers['Content-Type'] = $value;
            }
        }
        return $headers;
    }

    /**
     * Returns the body as received, or the parts of a multipart body, which PHP has parsed.
     *
     * @return string|array<string,mixed>
     */
    private static function body(string $method)
    {
        if (stripos((string) ($_SERVER['CONTENT_TYPE'] ?? ''), 'multipart/form-data') !== 0 || $method !== 'POST') { // phpcs:ignore
            return (string) file_get_contents('php://input');
        }
        $parts = [];
        self::flatten($_POST, '', $parts); // phpcs:ignore -- not slashed yet, see wp_magic_quotes
        foreach ($_FILES as $name => $file) { // phpcs:ignore
            if (is_string($file['tmp_name']) && is_uploaded_file($file['tmp_name'])) {
                $parts[$name] = new CURLFile($file['tmp_name'], $file['type'], $file['name']);
            }
        }
        return $parts;
    }

    private static function flatten(array $values, string $prefix, array &$parts): void
    {
        foreach ($values as $key => $value) {
            $name = $prefix === '' ? (string) $key : $prefix . '[' . $key . ']';
            if (is_array($value)) {
                self::flatten($value, $name, $parts);
            } else {
                $parts[$name] = (string) $value;
            }
        }
    }
}
