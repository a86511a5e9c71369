package languages_test

import (
	"slices"
	"strings"
	"testing"

	"modelgate.internal/dataplane/internal/languages"
)

func TestThereAreAtLeast130Languages(t *testing.T) {
	list := languages.All()
	if len(list) < 130 {
		t.Errorf("%d languages", len(list))
	}
	if !slices.IsSortedFunc(list, func(a, b languages.Language) int { return strings.Compare(a.Code, b.Code) }) {
		t.Error("not in order")
	}
	for _, want := range []languages.Language{{"sw", "Swahili"}, {"yo", "Yoruba"}, {"zu", "Zulu"}, {"he", "Hebrew"}, {"zh", "Chinese"}} {
		if !slices.Contains(list, want) {
			t.Errorf("%+v is missing", want)
		}
	}
	for _, l := range list {
		if name, ok := languages.Name(l.Code); !ok || name != l.Name {
			t.Errorf("%s is listed as %s and named %q", l.Code, l.Name, name)
		}
	}
}

func TestNamesOfCodes(t *testing.T) {
	for code, want := range map[string]string{
		"fr": "French", "FR": "French", "zh-Hans": "Simplified Chinese", "haw": "Hawaiian", "pt-BR": "Brazilian Portuguese",
		"": "", "und": "", "zz": "", "auto": "", "english": "", "a b": "",
	} {
		if got, ok := languages.Name(code); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, want %q", code, got, want)
		}
	}
}
