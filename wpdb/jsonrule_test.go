package wpdb

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestJSONColumns parses definitions as the servers print them. A ´ stands for a
// backtick.
func TestJSONColumns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		definition string
		want       []string
	}{
		"nothing":              {"", nil},
		"no rule":              {"CREATE TABLE ´t´ (\n  ´a´ longtext NOT NULL,\n  PRIMARY KEY (´id´)\n) ENGINE=InnoDB", nil},
		"a json of MariaDB":    {"CREATE TABLE ´t´ (\n  ´a´ longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL CHECK (json_valid(´a´)),\n  ´b´ int(11)\n)", []string{"a"}},
		"two of them":          {"CREATE TABLE ´t´ (´a´ longtext NOT NULL CHECK (json_valid(´a´)), ´b´ longtext NOT NULL CHECK (json_valid(´b´)))", []string{"a", "b"}},
		"a rule of the table":  {"CREATE TABLE ´t´ (´a´ longtext NOT NULL,\n  CONSTRAINT ´named´ CHECK (json_valid(´a´))\n)", []string{"a"}},
		"as MySQL prints it":   {"CREATE TABLE ´t´ (´a´ longtext NOT NULL,\n  CONSTRAINT ´t_chk_1´ CHECK ((json_valid(´a´)))\n)", []string{"a"}},
		"names without quotes": {"CREATE TABLE t (a longtext NOT NULL CHECK (json_valid(a)))", []string{"a"}},
		"capitals":             {"CREATE TABLE ´t´ (´a´ longtext NOT NULL check (JSON_VALID(´A´)))", []string{"A"}},
		"an odd name":          {"CREATE TABLE ´t´ (´a´´ CHECK (json_valid(´´b´´)),´ longtext NOT NULL CHECK (json_valid(´a´´ CHECK (json_valid(´´b´´)),´)))", []string{"a´ CHECK (json_valid(´b´)),"}},
		"letters beyond ASCII": {"CREATE TABLE t (größe longtext NOT NULL CHECK (json_valid(größe)))", []string{"größe"}},

		"a rule not enforced":       {"CREATE TABLE ´t´ (´a´ longtext, CONSTRAINT ´c´ CHECK (json_valid(´a´)) /*!80016 NOT ENFORCED */)", nil},
		"a rule with NOT NULL next": {"CREATE TABLE ´t´ (´a´ longtext CHECK (json_valid(´a´)) NOT NULL)", []string{"a"}},
		"a rule in a comment run":   {"CREATE TABLE ´t´ (´a´ longtext /*M!100301 COMPRESSED*/ NOT NULL /*!80016 CHECK (json_valid(´a´)) */)", []string{"a"}},
		"a rule in a plain comment": {"CREATE TABLE ´t´ (´a´ longtext NOT NULL /* CHECK (json_valid(´a´)) */)", nil},
		"or something else":         {"CREATE TABLE ´t´ (´a´ longtext NOT NULL CHECK (json_valid(´a´) or ´a´ = ''))", nil},
		"two in parentheses":        {"CREATE TABLE ´t´ (´a´ longtext NOT NULL, CHECK ((json_valid(´a´)) or (´a´ = '')))", nil},
		"the opposite":              {"CREATE TABLE ´t´ (´a´ longtext NOT NULL CHECK (!json_valid(´a´)))", nil},
		"of an expression":          {"CREATE TABLE ´t´ (´a´ longtext NOT NULL CHECK (json_valid(concat(´a´,']'))))", nil},
		"of a text":                 {"CREATE TABLE ´t´ (´a´ longtext NOT NULL CHECK (json_valid('´a´')))", []string{"'´a´'"}}, // not a column name
		"a generated column":        {"CREATE TABLE ´t´ (´g´ int(11) GENERATED ALWAYS AS (json_valid(´a´)) STORED)", nil},
		"a column called check":     {"CREATE TABLE ´t´ (´check´ int(11) DEFAULT (json_valid(´a´)))", nil},

		"in the text of a default":   {"CREATE TABLE ´t´ (´a´ longtext NOT NULL DEFAULT 'CHECK (json_valid(´a´))')", nil},
		"in a text with quotes":      {`CREATE TABLE ´t´ (´a´ longtext NOT NULL COMMENT 'it''s \' \\'' CHECK (json_valid(´a´))')`, nil},
		"after a text of backslash":  {`CREATE TABLE ´t´ (´e´ enum('\\','''') DEFAULT '\\', ´a´ longtext NOT NULL CHECK (json_valid(´a´)))`, []string{"a"}},
		"in a text of lines":         {"CREATE TABLE ´t´ (´a´ longtext NOT NULL COMMENT 'line\nCHECK (json_valid(´a´))')", nil},
		"in the table's comment":     {"CREATE TABLE ´t´ (´a´ longtext NOT NULL) COMMENT='CHECK (json_valid(´a´))'", nil},
		"in a text of double quotes": {`CREATE TABLE ´t´ (´a´ longtext NOT NULL COMMENT "CHECK (json_valid(´a´)) \"")`, nil},
		"in a comparison":            {"CREATE TABLE ´t´ (´a´ longtext NOT NULL CHECK (´a´ <> _utf8mb4'CHECK (json_valid(´a´))'))", nil},
		"cut short":                  {"CREATE TABLE ´t´ (´a´ longtext NOT NULL CHECK (json_valid(´a´)", nil},
		"cut after the word":         {"CREATE TABLE ´t´ (´a´ longtext NOT NULL CHECK", nil},
		"no parenthesis":             {"CREATE TABLE ´t´ (´a´ longtext NOT NULL CHECK json_valid(´a´))", nil},
		"nothing demanded":           {"CREATE TABLE ´t´ (´a´ longtext NOT NULL CHECK ())", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want []string
			for _, column := range test.want {
				want = append(want, strings.ReplaceAll(column, "´", "`"))
			}
			got := jsonColumns(strings.ReplaceAll(test.definition, "´", "`"))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
