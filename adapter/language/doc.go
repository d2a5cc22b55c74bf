// Package language finds and reads the translation of the plugin that WordPress itself would load, so that
// texts that Bookside stores and mails are those that the plugin would have written.
package language
