// Package ratelimit keeps API keys within their limits of requests per minute and per hour.
//
// A [Limiter] charges the requests of a key. A [LocalCounter] counts in this process, a [SharedCounter] in a Redis that several
// servers share. The server tells it the key of each request, and turns an [Error] into a response.
//
// It imports adapter/keys for the limits of a key, adapter/domain for the clock, and no other package of ours.
package ratelimit
