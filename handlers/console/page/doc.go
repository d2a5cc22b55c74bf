// Package page has what the pages of the console are made of: the frame around a page, tables, the fields
// of forms, alerts, facts, times, charts, grids of days and QR codes, with the style sheet, the script and
// the icon, all in the language and the zone of who reads the page. It knows nothing of the site, its records
// or the console's addresses, which its callers pass in, and imports only adapter/domain, for stored times,
// and adapter/text.
package page
