package openai

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxTokenRunes is the length at which a word is cut into several tokens, in runes without the white space.
	MaxTokenRunes = 12
	// PartTokens is what a message part that is not text counts for in prompt_tokens.
	PartTokens = 85
)

// Tokens cuts a text by the rule in the package comment. Joined, the tokens are the text.
func Tokens(text string) []string {
	var out []string
	start, runes := 0, 0 // runes counts the word's runes since start
	for i, r := range strings.TrimRightFunc(text, unicode.IsSpace) {
		space := unicode.IsSpace(r)
		if (space && runes > 0) || (!space && runes == MaxTokenRunes) {
			out = append(out, text[start:i])
			start, runes = i, 0
		}
		if !space {
			runes++
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// CountTokens is the number of tokens in a text.
func CountTokens(text string) int {
	n, runes := 0, 0
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			runes = 0
		default:
			if runes%MaxTokenRunes == 0 {
				n++
			}
			runes++
		}
	}
	if n == 0 && text != "" {
		return 1 // nothing but white space is one token
	}
	return n
}

// pieces cuts a text into runs of n runes.
func pieces(text string, n int) []string {
	var out []string
	for text != "" {
		end := 0
		for i := 0; i < n && end < len(text); i++ {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
		}
		out = append(out, text[:end])
		text = text[end:]
	}
	return out
}
