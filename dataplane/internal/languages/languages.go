package languages

import (
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// Language is a language with its name in English.
type Language struct{ Code, Name string }

// Name returns the English name of the language that a code stands for, and false for what is no code of a language.
func Name(code string) (name string, ok bool) {
	tag, err := language.Parse(code)
	if err != nil || tag == language.Und {
		return "", false
	}
	name = display.English.Tags().Name(tag)
	return name, name != ""
}

// All returns the languages that have a code of two letters, in the order of the codes. Of several codes for one language
// only that in use is among them, or the first.
func All() []Language {
	var list []Language
	named := map[string]bool{}
	for first := 'a'; first <= 'z'; first++ {
		for second := 'a'; second <= 'z'; second++ {
			code := string([]rune{first, second})
			base, err := language.ParseBase(code)
			if err != nil || language.Make(code).String() != code {
				continue
			}
			if name := display.English.Languages().Name(base); name != "" && !named[name] {
				named[name] = true
				list = append(list, Language{code, name})
			}
		}
	}
	return list
}
