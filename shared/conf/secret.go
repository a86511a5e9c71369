package conf

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Secret is a setting that must not be printed. It is written as file:PATH, env:NAME or the value itself. The zero value
// is not set.
type Secret struct{ text string }

// NewSecret returns a Secret from its written form.
func NewSecret(text string) Secret { return Secret{text: text} }

// IsSet reports whether the setting was given, even if it points to nothing.
func (s Secret) IsSet() bool { return s.text != "" }

// Value reads the secret. White space around it is removed, since editors end files with a line break.
func (s Secret) Value() (string, error) {
	scheme, arg, _ := strings.Cut(s.text, ":")
	var value string
	switch scheme {
	case "file":
		text, err := os.ReadFile(arg)
		if err != nil {
			return "", fmt.Errorf("read secret: %w", err)
		}
		value = string(text)
	case "env":
		text, ok := os.LookupEnv(arg)
		if !ok {
			return "", fmt.Errorf("read secret: environment variable %s is not set", arg)
		}
		value = text
	default:
		value = s.text
	}
	if value = strings.TrimSpace(value); value == "" {
		return "", errors.New("read secret: " + s.String() + " is empty")
	}
	return value, nil
}

// String says where the secret comes from, never what it is.
func (s Secret) String() string {
	switch {
	case s.text == "":
		return "not set"
	case strings.HasPrefix(s.text, "file:"), strings.HasPrefix(s.text, "env:"):
		return s.text
	default:
		return "set in the configuration"
	}
}

// GoString keeps the value out of %#v.
func (s Secret) GoString() string { return "conf.Secret(" + s.String() + ")" }

// UnmarshalText implements encoding.TextUnmarshaler for the YAML file.
func (s *Secret) UnmarshalText(text []byte) error {
	s.text = string(text)
	return nil
}

// MarshalText implements encoding.TextMarshaler: the source, never the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
