// Package ratelimit keeps API keys within their limits of requests per minute
// and per hour.
//
// A Limiter is echo middleware. What it counts is kept by a counter: a
// LocalCounter counts in this process, a SharedCounter in a Redis that several
// servers have in common. The server around it says whose request it is, and
// turns an Error into a response.
//
// It imports adapter/keys for the limits of a key, adapter/domain for the clock,
// and no other package of ours.
package ratelimit
