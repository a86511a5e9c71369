package account_test

import (
	"strings"
	"testing"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/shared/apierr"
)

func TestNormalizeEmail(t *testing.T) {
	for text, want := range map[string]string{
		" Ada@Example.COM ": "ada@example.com", "a.b+c@sub.example.co": "a.b+c@sub.example.co", "demo@modelgate.local": "demo@modelgate.local",
	} {
		if got, err := account.NormalizeEmail(text); err != nil || got != want {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "@", "ada", "ada@", "@example.com", "ada@example", "ada@@example.com", "a da@example.com", "ada@exa mple.com", "ada@-x.com", "ada@x-.com",
		"ada@.com", "ada@x..com", "Ada <ada@example.com>", `"a b"@example.com`, "ada@example.com\n", "ada@example.com,bob@example.com",
		"ädä@example.com", "ada@example.com\x00", strings.Repeat("a", 65) + "@example.com", strings.Repeat("a", 60) + "@" + strings.Repeat("b.", 100) + "com",
		".ada@example.com", "ada.@example.com", "ada@[127.0.0.1]",
	} {
		got, err := account.NormalizeEmail(text)
		if text == "ada@example.com\n" { // white space around an address is a slip of the clipboard
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if e := apierr.From(err); e == nil || e.Kind != apierr.Invalid {
			t.Errorf("%q became %q: %v", text, got, err)
		}
	}
}
