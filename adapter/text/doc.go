// Package text makes texts as WordPress and the plugin make them: it cleans what is stored as WordPress
// does, formats dates and JSON as PHP does, translates as the site does ([Translations]), and writes calendar
// files ([CalendarWriter]). The comment of each function names the function that it mirrors.
//
// It imports no other package of Bookside, and reads no database and no clock.
package text
