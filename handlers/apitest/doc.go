// Package apitest is for the tests of the API, which are in several packages that run side by side. It imports
// handlers as a program does, fixtures for databases, and what reads the API document. Its main type is [Server], the
// API on a database as a client sees it; [Small], [Shared], [Own] and [OwnWriter] serve a site to a test. Every
// [Answer] to a request that the server sends is compared with the API document. It never looks into handlers, and no
// program imports it.
package apitest
