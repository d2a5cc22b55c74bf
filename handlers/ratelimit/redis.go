package ratelimit

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Redis is a server of Redis in which several servers of ours count.
type Redis struct {
	Address string // how messages refer to it
	timeout time.Duration
	pool    *redis.Pool
}

// redisTimeout limits how long a request waits for Redis, which normally answers
// within a millisecond. The parameter read_timeout of the URL overrides it.
const redisTimeout = 100 * time.Millisecond

// keptConnections are as many connections as a busy server uses at a time.
const keptConnections = 32

// NewRedis returns the Redis at a URL such as redis://user:password@host:6379/0, rediss:// for TLS, or
// unix:///path/of/socket. It connects with the first request. The error may quote the URL.
func NewRedis(address string) (*Redis, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	network, database := "tcp", strings.Trim(u.Path, "/")
	r := &Redis{Address: net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379")), timeout: redisTimeout}
	switch {
	case u.Scheme == "redis" || u.Scheme == "rediss":
	case u.Scheme == "unix" && u.Path != "":
		network, database, r.Address = "unix", "", u.Path
	default:
		return nil, fmt.Errorf("%s is no URL of a Redis", address)
	}
	for name, values := range u.Query() {
		switch name {
		case "read_timeout":
			r.timeout, err = time.ParseDuration(values[0])
		case "db":
			database = values[0]
		default:
			err = fmt.Errorf("the parameter %s is unknown", name)
		}
		if err != nil {
			return nil, err
		}
	}
	number, err := strconv.Atoi(cmp.Or(database, "0"))
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	options := []redis.DialOption{
		redis.DialUseTLS(u.Scheme == "rediss"), redis.DialTLSHandshakeTimeout(r.timeout), redis.DialUsername(u.User.Username()),
		redis.DialPassword(password), redis.DialDatabase(number), redis.DialClientName("bookside"),
	}
	r.pool = &redis.Pool{
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, network, r.Address, options...)
		},
		MaxIdle: keptConnections,
		// A lost route breaks all connections silently. By the next attempt, those that were open when Redis
		// failed have been idle for longer than this, so they are not tried one by one.
		IdleTimeout: RetryInterval / 2,
	}
	return r, nil
}

// Close closes the connections.
func (r *Redis) Close() error { return r.pool.Close() }

// count is atomic in Redis, however many servers count at the same time.
var count = redis.NewScript(2, countSource)

//go:embed ratelimit.lua
var countSource string

// Try runs a script as counting does.
func (r *Redis) Try(ctx context.Context) error {
	_, err := r.run(ctx, redis.NewScript(0, "return {1}"))
	return err
}

// run runs a script that returns numbers. There are no retries: if Redis fails, the request is counted in this
// process.
func (r *Redis) run(ctx context.Context, script *redis.Script, args ...any) (result []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	conn, err := r.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return redis.Int64s(script.DoContext(ctx, conn, args...))
}

// RedisError describes why Redis failed. It keeps only the code of an error
// sent by Redis, because some servers quote what they received, including
// passwords.
func RedisError(err error) string {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return err.Error()
	}
	code, _, _ := strings.Cut(reply.Error(), " ")
	return "it answers with the error " + code
}
