package account

import (
	"net/mail"
	"strings"

	"modelgate.internal/shared/apierr"
)

// NormalizeEmail returns the form that an address is stored and compared in: trimmed, lower case. The error is a 422 that
// points at body.email.
func NormalizeEmail(text string) (string, error) {
	email := strings.ToLower(strings.TrimSpace(text))
	if reason := badEmail(email); reason != "" {
		return "", apierr.Violations(apierr.Item{
			Type: "value_error", Loc: []any{"body", "email"}, Msg: "value is not a valid email address: " + reason,
			Input: text, Ctx: map[string]any{"reason": reason},
		})
	}
	return email, nil
}

// badEmail says what is wrong with an address, or nothing. It asks for the plain form local@domain of ASCII letters,
// which is what mail servers take everywhere.
func badEmail(email string) string {
	local, domain, found := strings.Cut(email, "@")
	switch {
	case !found:
		return "An email address must have an @-sign."
	case len(email) > EmailBytesMax || len(local) > EmailLocalMax:
		return "The email address is too long."
	case strings.ContainsFunc(email, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "The email address contains characters that are not allowed."
	}
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || parsed.Name != "" || strings.HasPrefix(local, `"`) {
		return "The email address is not of the form name@example.com."
	}
	if !goodDomain(domain) {
		return "The part after the @-sign is not a valid domain."
	}
	return ""
}

func goodDomain(domain string) bool {
	labels := strings.Split(domain, ".")
	if len(labels) < 2 {
		return false
	}
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
		for _, c := range label {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
	}
	return true
}
