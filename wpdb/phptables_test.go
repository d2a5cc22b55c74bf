package wpdb

import (
	"encoding/base64"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestMaybeSerializeAsRecorded: each recorded text is recognised, stored and read back
// as by WordPress.
func TestMaybeSerializeAsRecorded(t *testing.T) {
	t.Parallel()
	texts, _ := fixtures.Sanitized(t)
	for _, text := range texts {
		expect.Equal(t, text.IsSerialized, isSerialized(text.In, true), text.In, ": is serialised")
		stored := MaybeSerialize(PHPText(text.In))
		expect.Equal(t, text.MaybeSerialize, stored, text.In, ": stored as")
		if got, err := MaybeUnserialize(stored); err != nil || got != any(text.In) {
			t.Errorf("%s: reads back as %v, error %v", text.In, got, err)
		}
		expect.Equal(t, text.In, PlainText(stored), text.In, ": its text is")
	}
}

func TestPlainText(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string]string{
		"":                                "",
		"approved":                        "approved",
		" x ":                             " x ",
		`s:8:"approved";`:                 "approved",
		"\n s:2:\"on\"; ":                 "on",
		`s:4:"N;ü";`:                      "N;ü",
		`s:15:"s:8:"approved";";`:         `s:8:"approved";`, // not serialised again
		`s:24:"a:1:{s:6:"editor";b:1;}";`: `s:24:"a:1:{s:6:"editor";b:1;}";`,
		`s:23:"a:1:{s:6:"editor";b:1;}";`: `a:1:{s:6:"editor";b:1;}`,
		"i:5;":                            "5",
		"d:5.5;":                          "5.5",
		"b:1;":                            "1",
		"b:0;":                            "",
		"N;":                              "",
		`a:1:{i:0;s:1:"x";}`:              `a:1:{i:0;s:1:"x";}`,
		`O:8:"stdClass":0:{}`:             `O:8:"stdClass":0:{}`,
		`s:9:"cut";`:                      `s:9:"cut";`,
	} {
		expect.Equal(t, want, PlainText(stored), stored, " reads as")
	}
}

// serializedSeeds are borderline cases of serialised texts.
var serializedSeeds = []string{
	"", "N;", "N;x", " N; ", "b:1;", "b:1;x", "i:-5;;", "d:1E+;", "s:0:\"\";", "s:5:\"a\" ;", "s:1:;", "a:1:}", "a:0:{", "O:1:\"", "O:1;x", "O:1:\"a;",
	"E:1:;", "i:5", "a:;", "s:+1:\"a\";", "\x00a:0:{}\x0b", "i:5;\n", "O:12:\"Some_Class\":1:{s:1:\"a\";i:1;}", "s:3:\"ü\";",
}

// FuzzMaybeSerialize: every text is read back as itself.
func FuzzMaybeSerialize(f *testing.F) {
	for _, seed := range serializedSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > maxPHPSerial/2 {
			return
		}
		stored := MaybeSerialize(PHPText(text))
		if got, err := MaybeUnserialize(stored); err != nil || got != any(text) {
			t.Errorf("%q, stored as %q, reads as %v, error %v", text, stored, got, err)
		}
		if isSerialized(text, true) && !isSerialized(text, false) {
			t.Errorf("%q would be unserialised, but is stored as it is", text)
		}
		_ = PlainText(text)
	})
}

// TestPHPReadsStoredText: PHP reads every stored value as a string, whatever the text.
func TestPHPReadsStoredText(t *testing.T) {
	t.Parallel()
	php := fixtures.RequireTool(t, "php")
	recorded, _ := fixtures.Sanitized(t)
	texts := serializedSeeds
	for _, text := range recorded {
		texts = append(texts, text.In)
	}
	var stored [][]byte
	for _, text := range texts {
		if s := MaybeSerialize(PHPText(text)); s != text {
			stored = append(stored, []byte(s))
		} else {
			stored = append(stored, []byte(serializeText(text))) // as an element of an array
		}
	}
	const script = `echo json_encode(array_map(function ($stored) {
		$value = unserialize(trim(base64_decode($stored)));
		return is_string($value) ? base64_encode($value) : gettype($value);
	}, json_decode(stream_get_contents(STDIN))));`
	input, err := json.Marshal(stored)
	expect.NoError(t, err)
	command := exec.CommandContext(t.Context(), php, "-r", script)
	command.Stdin = strings.NewReader(string(input))
	output, err := command.Output()
	expect.NoError(t, err)
	var read []string
	expect.NoError(t, json.Unmarshal(output, &read))
	for i, text := range texts {
		if got, err := base64.StdEncoding.DecodeString(read[i]); err != nil || string(got) != text {
			t.Errorf("%q, stored as %q, is %q in PHP", text, stored[i], read[i])
		}
	}
}
