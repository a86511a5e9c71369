package id_test

import (
	"regexp"
	"strings"
	"testing"

	"modelgate.internal/shared/id"
)

const good = "018f6d1c-9c1e-7cc2-9d3a-2f7a0d6c4b11"

func TestValid(t *testing.T) {
	if !id.Valid(good) {
		t.Errorf("%q is no id", good)
	}
	for _, text := range []string{
		"", "x", "urn:uuid:" + good, "{" + good + "}", strings.ReplaceAll(good, "-", ""), strings.ToUpper(good), good + "0", good[:35],
		good[:35] + "g", good[:35] + "\x00", good[:35] + "\xff", strings.Replace(good, "-", "0", 1), "0" + good[:8] + good[9:], " " + good[1:],
	} {
		if id.Valid(text) {
			t.Errorf("%q is an id", text)
		}
	}
}

func FuzzValid(f *testing.F) {
	form := regexp.MustCompile(`\A[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\z`)
	f.Add(good)
	f.Add(good[:35] + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		if want := form.MatchString(text); id.Valid(text) != want {
			t.Errorf("%q: %v, want %v", text, !want, want)
		}
	})
}
