package api

import (
	"strings"

	"modelgate.internal/dataplane/internal/result"
	"modelgate.internal/shared/apierr"
)

// A gallery is named by org_id. The account's own is named by the account's id: the organization that owns the key's app, or the
// developer where none does. Any other name is one of a gallery within the account, which servers are told as "account/name": templates
// are personal data, so the same name with another account's key is another gallery, and no name reaches out of the account.
const gallerySeparator = "/"

// nameGalleries puts the names of galleries into the account, wherever they are in the body. Error: 422.
func nameGalleries(account string, body map[string]any) error {
	return nameGalleriesIn(account, body, []any{"body"})
}

func nameGalleriesIn(account string, v any, at []any) error {
	switch v := v.(type) {
	case map[string]any:
		if err := nameGallery(account, v, at); err != nil {
			return err
		}
		for name, value := range v {
			if err := nameGalleriesIn(account, value, append(at, name)); err != nil {
				return err
			}
		}
	case []any:
		for i, element := range v {
			if err := nameGalleriesIn(account, element, append(at, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameGallery looks for org_id in any case, since some servers do.
func nameGallery(account string, object map[string]any, at []any) error {
	for member, given := range object {
		if !strings.EqualFold(member, "org_id") || given == account {
			continue
		}
		name, err := within(account, given, append(at, member))
		if err != nil {
			return err
		}
		object[member] = name
	}
	return nil
}

// within is the name by which servers know the account's gallery of a given name.
func within(account string, given any, at []any) (string, error) {
	name, _ := given.(string)
	if !galleryName(name) {
		const what = "a gallery has a name of 1 to 128 letters, digits, dots, hyphens and underscores, of which the first is a letter or digit"
		if len(name) > galleryNameMax {
			given = name[:galleryNameMax] + "…"
		}
		return "", apierr.Violations(apierr.Item{
			Type: "value_error", Loc: at, Msg: "Value error, " + what, Input: given, Ctx: map[string]any{"error": what},
		})
	}
	return account + gallerySeparator + name, nil
}

func galleryName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '-' && c != '_') {
			return false
		}
	}
	return name != "" && len(name) <= galleryNameMax
}

// galleriesAsAsked puts the names that the caller knows into an answer. The bytes are the server's unless it has one.
func galleriesAsAsked(account string, body []byte, answer map[string]any) ([]byte, error) {
	if !strip(account+gallerySeparator, answer) {
		return body, nil
	}
	return result.Encode(answer)
}

// strip takes the prefix off the names of galleries, wherever they are, and reports whether there was one.
func strip(prefix string, v any) (found bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			text, ok := value.(string)
			if rest, inside := strings.CutPrefix(text, prefix); ok && inside && strings.EqualFold(name, "org_id") {
				v[name], found = rest, true
			}
			found = strip(prefix, value) || found
		}
	case []any:
		for _, element := range v {
			found = strip(prefix, element) || found
		}
	}
	return found
}
