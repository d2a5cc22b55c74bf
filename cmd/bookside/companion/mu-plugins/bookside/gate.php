<?php

defined('ABSPATH') || exit;

/**
 * Keeps a hanging server from occupying all PHP processes, and with them the whole site: at most half of them forward at the
 * same time, and after a timeout none does for a few seconds; then one request at a time tries, until one is answered.
 *
 * The processes share a directory of empty files. A lock on a file is a place, which the system frees when its process dies, and
 * the time of another file is that of the last timeout. While all is well nothing is written.
 */
class BooksideGate
{
    private const PAUSE = 5; // seconds after a timeout
    private const WORKERS = 5; // assumed if PHP does not say: the maximum in PHP-FPM's own example
    private const TIMEOUT = 15.0; // the server's time limit for a request in seconds, until it reports its own

    private string $folder;

    /** Begin of the names of files about one server. */
    private string $server;

    /** @var array{timeout:float,key:?string,cors:?bool}|null */
    private ?array $told = null;

    private string $telling = '';

    /** @var resource[] Files that are locked until this request leaves. */
    private array $locked = [];

    private bool $probing = false;

    private function __construct(string $folder, string $server)
    {
        $this->folder = $folder;
        $this->server = $folder . '/' . md5($server);
    }

    /** Returns the gate before a server; null if this PHP has no directory of its own for it. */
    public static function before(string $server): ?self
    {
        $folder = self::folder();
        if (!is_dir($folder)) {
            @mkdir($folder, 0700); // phpcs:ignore -- another process may be faster
            clearstatcache();
        }
        // In a directory shared with others on this machine, somebody else may have taken the name.
        $ours = !is_link($folder) && is_dir($folder) && is_writable($folder) && (DIRECTORY_SEPARATOR !== '/' || (fileperms($folder) & 077) === 0);
        return $ours ? new self($folder, $server) : null;
    }

    /** Returns the directory of all sites of this user, because they share the processes. */
    public static function folder(): string
    {
        $user = function_exists('posix_geteuid') ? posix_geteuid() : get_current_user();
        return get_temp_dir() . 'bookside-' . substr(md5($user . ' ' . self::pool()), 0, 16);
    }

    /** Returns why a request may not be forwarded now, for its client; '' if it may. What it takes it keeps until it leaves. */
    public function enter(): string
    {
        $hung = $this->hungAt();
        if ($hung !== 0) {
            $age = time() - $hung;
            if (($age >= 0 && $age <= self::PAUSE) || !$this->lock($this->server . '.probe') || $this->hungAt() > $hung) {
                return 'The server of the API does not answer at the moment.';
            }
            $this->probing = true;
        }
        for ($i = 0, $slots = self::slots(); $i < $slots; $i++) {
            if ($this->lock($this->folder . '/slot-' . $i)) {
                return '';
            }
        }
        return 'Too many requests are forwarded to the server of the API at the moment.';
    }

    /** Makes room for another request. */
    public function leave(): void
    {
        array_map('fclose', $this->locked);
        $this->locked = [];
    }

    /** Notes that the server did not answer in time. */
    public function timedOut(): void
    {
        touch($this->server . '.hung');
    }

    /** Notes that the server answered, and what it told about itself. */
    public function answered(string $telling): void
    {
        if ($this->probing) {
            @unlink($this->server . '.hung'); // phpcs:ignore -- it may be gone
        }
        $this->told();
        if ($telling === '' || $telling === $this->telling) {
            return;
        }
        $new = tempnam($this->folder, 'new');
        if ($new !== false && file_put_contents($new, $telling) !== false) {
            rename($new, $this->server . '.told');
        }
    }

    /**
     * Returns what the server last reported: the time limit of a request in seconds, the query parameter that may have the key
     * ('' for none), and whether responses depend on the origin of a page. The last two are null before the first report.
     *
     * @return array{timeout:float,key:?string,cors:?bool}
     */
    public function told(): array
    {
        if ($this->told === null) {
            $this->telling = is_file($this->server . '.told') ? (string) file_get_contents($this->server . '.told') : '';
            parse_str($this->telling, $told);
            $timeout = is_numeric($told['timeout'] ?? null) ? (float) $told['timeout'] : 0.0;
            $this->told = [
                'timeout' => $timeout > 0 ? $timeout : self::TIMEOUT,
                'key' => is_string($told['key'] ?? null) ? $told['key'] : null,
                'cors' => isset($told['cors']) ? $told['cors'] === '1' : null,
            ];
        }
        return $this->told;
    }

    /** Returns when the server last did not answer in time, as long as it counts (Unix time); 0 for never. */
    private function hungAt(): int
    {
        clearstatcache();
        return is_file($this->server . '.hung') ? (int) filemtime($this->server . '.hung') : 0;
    }

    /** Locks a file until this request leaves, and reports whether nobody else had. */
    private function lock(string $name): bool
    {
        $file = @fopen($name, 'c'); // phpcs:ignore -- without it there is no slot
        if ($file === false || !flock($file, LOCK_EX | LOCK_NB)) {
            return false;
        }
        $this->locked[] = $file;
        return true;
    }

    /** Returns how many requests may be forwarded at a time: half as many as there are processes, or what wp-config.php says. */
    public static function slots(): int
    {
        $set = defined('BOOKSIDE_FORWARDED_AT_ONCE') ? (int) constant('BOOKSIDE_FORWARDED_AT_ONCE') : 0;
        return max(1, $set > 0 ? $set : intdiv(self::workers() ?: self::WORKERS, 2));
    }

    /** Returns how many processes of PHP there are at most, if that can be found out; else 0. */
    private static function workers(): int
    {
        switch (PHP_SAPI) {
            case 'fpm-fcgi':
                $main = dirname((string) php_ini_loaded_file());
                return self::poolSize(
                    array_merge(...array_map(fn($pattern) => glob($pattern) ?: [], ["$main/pool.d/*.conf", "$main/php-fpm.d/*.conf", PHP_SYSCONFDIR . '/php-fpm.d/*.conf'])),
                    self::pool()
                );
            case 'litespeed':
                return (int) (getenv('PHP_LSAPI_CHILDREN') ?: getenv('LSAPI_CHILDREN'));
            case 'cgi-fcgi':
                return (int) getenv('PHP_FCGI_CHILDREN');
            case 'cli-server':
                return (int) (getenv('PHP_CLI_SERVER_WORKERS') ?: 1);
            default:
                return 0;
        }
    }

    /** Returns the name of the pool of PHP-FPM that this process belongs to; '' for none. */
    private static function pool(): string
    {
        $status = function_exists('fpm_get_status') ? fpm_get_status() : false;
        return is_array($status) ? (string) ($status['pool'] ?? '') : '';
    }

    /** Returns how many processes a pool of PHP-FPM has at most by some files of its configuration; 0 if none can be read that says so. */
    public static function poolSize(array $files, string $pool): int
    {
        $size = 0;
        foreach ($files as $file) {
            $sections = is_readable($file) ? parse_ini_file($file, true, INI_SCANNER_RAW) : false;
            $size = (int) ($sections[$pool]['pm.max_children'] ?? $size);
        }
        return $size;
    }
}
