package notify

import (
	"maps"
	"strings"
	"unicode"
)

// render renders the templates of actions (ProcessAction::prepare_data_for_run). Messages
// without a recipient are left out: the plugin only logs that they failed.
func (s Subject) render(actions []action) []Action {
	fill := s.Variables.replacer(func(_, value string) string { return value })
	inMails := maps.Clone(s.Variables)
	maps.Copy(inMails, s.HTML)
	fillHTML := inMails.replacer(func(_, value string) string { return value })
	fillRecipients := s.Variables.replacer(recipient)
	var rendered []Action
	for _, a := range actions {
		setting := func(name string) string { return scalarText(a.settings.get(name)) }
		done := Action{ID: a.id, Type: a.kind, Attachments: []string{}}
		switch a.kind {
		case SendEmail:
			done.To = oneLine(fillRecipients.Replace(setting("to_email")))
			done.Subject = oneLine(fill.Replace(setting("subject")))
			done.Content = fillHTML.Replace(setting("content"))
			done.Attachments = split(commaList(a.settings.get("attachments")))
		case SendSMS:
			done.To = oneLine(fill.Replace(setting("to_phone")))
			done.Content = fill.Replace(setting("content"))
		case TriggerWebhook:
			done.URL = escapeHTML.Replace(oneLine(fill.Replace(setting("url"))))
			done.Data = s.Data
		}
		if done.To != "" || done.Data != nil {
			rendered = append(rendered, done)
		}
	}
	return rendered
}

// replacer returns a replacer for variables, each in the form that shown returns. It replaces all of them
// in one pass, so that a customer's text is never a template itself. The plugin replaces one variable after
// the other, and would expand variables in a name.
func (v Variables) replacer(shown func(name, value string) string) *strings.Replacer {
	pairs := make([]string, 0, 2*len(v))
	for name, value := range v {
		pairs = append(pairs, "{{"+name+"}}", shown(name, value))
	}
	return strings.NewReplacer(pairs...)
}

// recipient removes the characters from names that separate recipients, or names from addresses, so that
// nobody can add recipients through a name.
func recipient(name, value string) string {
	if strings.HasSuffix(name, "_email") || strings.HasSuffix(name, "_emails") {
		return value
	}
	return notInNames.Replace(value)
}

var notInNames = strings.NewReplacer(",", " ", ";", " ", "<", "", ">", "", `"`, "")

// oneLine prevents a header line of a mail from becoming two.
func oneLine(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, line)
}

// escapeHTML is esc_html: the site shows a webhook's URL as it is stored.
var escapeHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#039;")

func split(list string) []string {
	parts := []string{}
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
