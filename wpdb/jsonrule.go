package wpdb

import (
	"regexp"
	"strings"
)

// definitionTokens splits what SHOW CREATE TABLE prints in our sessions: texts,
// with backslash escapes or doubled quotes; names in backticks; comments; words;
// single characters. Of a comment that only some versions of the server execute,
// the start and the end are tokens, and its contents count.
var definitionTokens = regexp.MustCompile("(?s)" + strings.Join([]string{
	`'(?:[^'\\]|''|\\.)*'`,
	`"(?:[^"\\]|""|\\.)*"`,
	"`(?:[^`]|``)*`",
	`/\*M?![0-9]*`,
	`/\*.*?\*/`,
	`\*/`,
	`[\pL\pN_$]+`,
	`[^\s]`,
}, "|"))

// jsonColumns lists the columns for which a table's definition has the rule
// CHECK (json_valid(column)), which is all that MariaDB makes of the type json.
// Rules that combine this with other conditions do not count.
func jsonColumns(definition string) []string {
	var tokens []string
	for _, token := range definitionTokens.FindAllString(definition, -1) {
		if token != "*/" && !strings.HasPrefix(token, "/*") {
			tokens = append(tokens, token)
		}
	}
	var columns []string
	for i, token := range tokens {
		if !strings.EqualFold(token, "CHECK") {
			continue
		}
		rule, rest := parenthesised(tokens[i+1:])
		for {
			inner, outer := parenthesised(rule)
			if inner == nil || len(outer) > 0 {
				break
			}
			rule = inner
		}
		enforced := len(rest) < 2 || !strings.EqualFold(rest[0], "NOT") || !strings.EqualFold(rest[1], "ENFORCED")
		if enforced && len(rule) == 4 && strings.EqualFold(rule[0], "json_valid") && rule[1] == "(" && rule[3] == ")" {
			columns = append(columns, unquoteName(rule[2]))
		}
	}
	return columns
}

// parenthesised splits tokens that start with a parenthesis into its contents and
// what follows it. Both are nil where there is none, or where it is never closed.
func parenthesised(tokens []string) (inner, rest []string) {
	depth := 0
	for i, token := range tokens {
		switch token {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth == 0 {
			if i == 0 {
				return nil, nil
			}
			return tokens[1:i], tokens[i+1:]
		}
	}
	return nil, nil
}

// unquoteName undoes quoteName. A name without quotes is returned as it is.
func unquoteName(name string) string {
	if inner, ok := strings.CutPrefix(name, "`"); ok {
		return strings.ReplaceAll(strings.TrimSuffix(inner, "`"), "``", "`")
	}
	return name
}
