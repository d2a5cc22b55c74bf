// Package typed is the form of responses for clients that are generated from the API's document: ids are
// integers everywhere, and all errors have one form. Requests choose it by a header.
//
// Responses are made in their usual form, compared and stored in that, and changed when they are sent. It
// imports compat, whose schemas say which members are ids, and no other package of the project.
package typed
