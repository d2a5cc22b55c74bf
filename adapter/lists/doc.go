// Package lists finds one page of a list, counts the list, and looks ahead for exports. A list is a filter,
// a sort order and a function that reads its records; it takes the same number of statements however long
// it is.
//
// It may import session and what session may import.
package lists
