// Package load is shared by the recipes in this directory: it sends and retries requests, starts, kills and
// stops the programs under test, counts answers and problems, measures rates, and receives webhooks.
package load
