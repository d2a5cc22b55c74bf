package wpdb

import (
	"regexp"
	"strings"
)

// definitionTokens matches the tokens in the output of SHOW CREATE TABLE in our
// sessions: texts, with backslash escapes or doubled quotes; names in
// backticks; comments; words; single characters. In a comment that only some
// versions of the server execute, the start, the end and the content are
// separate tokens.
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

// jsonColumns returns the columns for which a table's definition has the
// constraint CHECK (json_valid(column)), MariaDB's translation of the type
// json. Constraints that combine it with other conditions do not count.
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

// parenthesised splits tokens that start with a parenthesis into its content
// and the rest. Both are nil if there is no parenthesis or it is not closed.
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

// unquoteName reverses quoteName. A name without quotes is returned unchanged.
func unquoteName(name string) string {
	if inner, ok := strings.CutPrefix(name, "`"); ok {
		return strings.ReplaceAll(strings.TrimSuffix(inner, "`"), "``", "`")
	}
	return name
}
