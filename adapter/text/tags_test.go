package text

import (
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

// TestStripTags has PHP 8.2's results.
func TestStripTags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"<!-- a > b -->c":        "c",
		`a<!-- "b" --->c`:        "ac",
		"a<!-- it's -->b":        "ab",
		`a<!b "c>d" e>f`:         "af",
		`a<!b \"c>d`:             "ad",
		"a<!->b":                 "ab",
		"a<!-->b-->c":            "ab-->c",
		`a<!doctype b "c">d`:     "ad",
		"a<!DOCTYPE>b":           "ab",
		`a<!xoctype "b'>c`:       "a",
		"<?php a > 1 ?>b":        "b",
		"a<?php f(1 > 2 ?>) ?>b": "ab",
		"a<?php f() ?>b":         "ab",
		`a<?php ")" ?>b`:         "ab",
		`a<?php "(" ?>b`:         "ab",
		"a<?php ')' ?>b":         "ab",
		"a<?php '(' ?>b>c":       "ab>c",
		`a<?php "\"?>" ?>b`:      "ab",
		`a<?php "b?>c" ?>d`:      "ad",
		"a<?php 'b?>c' ?>d":      "ad",
		`a<?php " ?>b>c`:         "a",
		"a<? ) ?>b":              "a",
		"a<? ( ?>b":              "a",
		"a<?xml b?>c":            "ac",
		"a<?xml b->c>d":          "ad",
		"a<?XML b>c":             "ac",
		"<?xml b>c":              "",
		"a<?xm b>c":              "a",
		`a <?xml b="1?>c">d`:     "a d",
		`a<b "c>d">e`:            "ae",
		"a<b 'c>d'>e":            "ae",
		`a<b "c'>d">e`:           "ae",
		"a<b <c>d>e":             "ae",
		"a<b < c>d":              "ad",
		`a<b "<c>">d`:            "ad",
		"a<b<!-->c>d":            "acd",
		"a<b<!-- c -->d>e>f":     "ade>f",
		"a<b c":                  "a",
		"a > b":                  "a > b",
		"a< b>c":                 "a< b>c",
		"a<":                     "a",
		"a<b":                    "a",
		"a<\tb>c":                "a<\tb>c",
		"a<\vb>c":                "a<\vb>c",
		"a\x00b<\x00c>d":         "abd",
		"a<b ! c>d":              "ad",
		"a<b ? c>d":              "ad",
		"<":                      "",
		"<a":                     "",
		"a<b-->c":                "ac",
		`a<?php \" ?>b`:          "ab",
		`a<?php "a"b" ?>c>d`:     "a",
		`a<? "'" ?>b`:            "a",
		"a<?xmL b-->c>d":         "ad",
		`a<b "<!c>" d>e`:         "ae",
		"a<b<?c?>d>e":            "a",
	} {
		expect.Equal(t, want, stripTags(text), text)
	}
}
