package notify

import (
	"maps"
	"strings"
	"unicode"
)

// render renders the templates of actions (ProcessAction::prepare_data_for_run). Messages
// without a recipient are left out: the plugin only logs that they failed.
func (v messageVariables) render(actions []action) []Action {
	inMails := maps.Clone(v.text)
	maps.Copy(inMails, v.html)
	fill, fillHTML, fillRecipients := v.text.replacer(), inMails.replacer(), v.text.inRecipients().replacer()
	var rendered []Action
	for _, a := range actions {
		setting := func(name string) string { return scalarText(a.settings.get(name)) }
		r := Action{ID: a.id, Type: a.kind, Attachments: []string{}}
		switch a.kind {
		case SendEmail:
			r.To = oneLine(fillRecipients.Replace(setting("to_email")))
			r.Subject = oneLine(fill.Replace(setting("subject")))
			r.Content = fillHTML.Replace(setting("content"))
			r.Attachments = split(commaList(a.settings.get("attachments")))
		case SendSMS:
			r.To = oneLine(fill.Replace(setting("to_phone")))
			r.Content = fill.Replace(setting("content"))
		}
		if r.To != "" {
			rendered = append(rendered, r)
		}
	}
	return rendered
}

// replacer returns a replacer for variables. It replaces all of them in one pass, so that a customer's text is
// never a template itself. The plugin replaces one variable after the other, and would expand variables in a
// name.
func (v Variables) replacer() *strings.Replacer {
	pairs := make([]string, 0, 2*len(v))
	for name, value := range v {
		pairs = append(pairs, "{{"+name+"}}", value)
	}
	return strings.NewReplacer(pairs...)
}

// inRecipients returns the variables without the characters in names that separate recipients, or names from
// addresses, so that nobody can add recipients through a name.
func (v Variables) inRecipients() Variables {
	safe := make(Variables, len(v))
	for name, value := range v {
		if !strings.HasSuffix(name, "_email") && !strings.HasSuffix(name, "_emails") {
			value = notInNames.Replace(value)
		}
		safe[name] = value
	}
	return safe
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

func split(list string) []string {
	parts := []string{}
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
