// Package load is the client of the recipes in this directory: it sends requests and repeats those that are
// told to come again, starts, kills and stops the programs under test, counts answers and problems, measures
// rates, and receives webhooks.
package load
