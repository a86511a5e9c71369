package server

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"modelgate.internal/shared/apierr"
)

// wildcard is a parameter in a pattern of the mux.
var wildcard = regexp.MustCompile(`{([a-z_]+)(?:\.\.\.)?}`)

func parametersOf(pattern string) []string {
	var names []string
	for _, found := range wildcard.FindAllStringSubmatch(pattern, -1) {
		names = append(names, found[1])
	}
	return names
}

// readable returns a 422 that names the parameters, in the path and the query, that are no text: not UTF-8, or with the character U+0000,
// which no database of ours keeps. So no handler sees one.
func readable(r *http.Request, parameters []string) error {
	var items []apierr.Item
	judge := func(in, name, value string) {
		var what string
		switch {
		case !utf8.ValidString(name + value):
			what = "text must be UTF-8"
		case strings.ContainsRune(name+value, 0):
			what = "text must not contain the character U+0000"
		default:
			return
		}
		const shownMax = 200
		items = append(items, apierr.Item{
			Type: "value_error", Loc: []any{in, strings.ToValidUTF8(name, "�")}, Msg: "Value error, " + what,
			Input: strings.ToValidUTF8(value[:min(len(value), shownMax)], "�"), Ctx: map[string]any{"error": what},
		})
	}
	for _, name := range parameters {
		judge("path", name, r.PathValue(name))
	}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, wrong := url.QueryUnescape(name)
		value, alsoWrong := url.QueryUnescape(value)
		if wrong == nil && alsoWrong == nil {
			judge("query", name, value)
		}
	}
	if len(items) > 0 {
		return apierr.Violations(items...)
	}
	return nil
}
