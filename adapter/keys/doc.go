// Package keys knows who may do what: the API keys of a site and the tokens of its administration pages,
// of which only the hash is stored ([Store]). It also keeps what keys have asked for: the stored responses to
// requests with an Idempotency-Key, so that nothing is done twice ([ResponseStore]), and the log of requests
// for the console ([RequestLog]), which has nothing of what clients sent but ids and names of refused fields.
//
// It imports domain and wpdb, and knows no bookings.
package keys
