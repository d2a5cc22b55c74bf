// Package orders lists, creates and changes orders.
//
// It may import payments and what payments may import.
package orders
