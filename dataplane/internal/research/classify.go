package research

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is what a question is about.
type Kind string

// The kinds, words of the contract.
const (
	Person        Kind = "person"
	Company       Kind = "company"
	Topic         Kind = "topic"
	News          Kind = "news"
	Threat        Kind = "threat"
	SocialProfile Kind = "social_profile"
)

// rule is the signs of a kind.
type rule struct {
	kind Kind
	sign func(q *question) bool
}

// rules are in the order of their precedence: the first that knows a sign decides. What has no sign is a topic.
func rules() []rule {
	return []rule{
		{Threat, func(q *question) bool { return indicator.MatchString(q.text) || q.has(threatWords...) }},
		{SocialProfile, func(q *question) bool {
			return profile.MatchString(q.text) || q.has("profile", "instagram", "linkedin", "tiktok")
		}},
		{News, func(q *question) bool { return recent.MatchString(q.lower) || q.has("news", "headlines", "breaking") }},
		{Company, func(q *question) bool {
			return q.has(legalForms...) || q.named(nameForms...) || q.has("company", "startup", "shareholders", "revenue", "headquarters") ||
				ticker.MatchString(q.text)
		}},
		{Person, func(q *question) bool {
			return strings.HasPrefix(q.lower, "who is ") || strings.HasPrefix(q.lower, "who was ") || q.has("biography") || q.isName()
		}},
	}
}

// Signs of the kinds. The patterns are never written to.
var (
	// CVE and ATT&CK numbers, checksums of files, IPv4 addresses, and addresses that were made harmless.
	indicator = regexp.MustCompile(`(?i)\bCVE-\d{4}-\d{4,}\b|\bT1\d{3}(\.\d{3})?\b|\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b|\b[0-9a-f]{32}\b|` +
		`\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b|\[\.\]|\bhxxps?:`)
	// Mail addresses, handles, and addresses of profiles.
	profile = regexp.MustCompile(`(?i)[\w.+-]+@[\w-]+\.[\w.-]+|(?:^|\s)@[\w.]{2,}|` +
		`\b(?:linkedin\.com/in|facebook\.com|instagram\.com|github\.com|t\.me|tiktok\.com|youtube\.com|x\.com|twitter\.com)/[\w@.-]+/?(?:\s|$)`)
	recent = regexp.MustCompile(`\b(?:latest|today|yesterday|this (?:week|month)|last (?:week|night)|breaking)\b|` +
		`\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\s+(?:\d{1,2},?\s+)?20\d\d\b|\b20\d\d-\d\d(?:-\d\d)?\b`)
	ticker = regexp.MustCompile(`\b(?:NASDAQ|NYSE|LSE|JSE)\s*:\s*[A-Z]{1,5}\b`)

	threatWords = []string{
		"malware", "ransomware", "phishing", "botnet", "exploit", "vulnerability", "vulnerabilities", "backdoor", "apt28", "apt29", "apt41", "ioc", "iocs",
	}
	legalForms = []string{"inc", "ltd", "llc", "plc", "gmbh", "corp", "corporation", "sarl"}
	// Legal forms that are other words as well.
	nameForms = []string{"AG", "SA", "AB", "Oy", "KG", "BV", "NV", "Pty", "Limited", "Holdings", "Group"}
	// Capitalized words that names of persons do not have.
	notNames = []string{
		"the", "a", "an", "of", "in", "on", "for", "and", "or", "what", "how", "why", "when", "where", "which", "is", "are", "does", "do", "can",
		"university", "war", "street", "city", "river", "republic", "union", "act", "law", "theory", "learning", "intelligence", "revolution", "states",
	}
)

// question is a query, taken apart.
type question struct {
	text, lower string
	words       []string // as they are written, without punctuation around them
}

// Classify says what a query is about.
func Classify(query string) Kind {
	q := &question{text: strings.Join(strings.Fields(query), " ")}
	q.lower = strings.ToLower(q.text)
	for word := range strings.FieldsSeq(q.text) {
		word = strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if word != "" {
			q.words = append(q.words, word)
		}
	}
	for _, r := range rules() {
		if r.sign(q) {
			return r.kind
		}
	}
	return Topic
}

// has reports whether one of the words, in lower case, is in the question.
func (q *question) has(wanted ...string) bool {
	return slices.ContainsFunc(q.words, func(word string) bool { return slices.Contains(wanted, strings.ToLower(word)) })
}

// named reports whether one of the words, as it is written in names, stands behind a capitalized one. Points do not count.
func (q *question) named(wanted ...string) bool {
	for i, word := range q.words {
		if i > 0 && capitalized(q.words[i-1]) && slices.Contains(wanted, strings.ReplaceAll(word, ".", "")) {
			return true
		}
	}
	return false
}

// isName reports whether the question is nothing but the name of a person: two to four capitalized words.
func (q *question) isName() bool {
	if len(q.words) < 2 || len(q.words) > 4 || strings.ContainsAny(q.text, "?:") {
		return false
	}
	for i, word := range q.words {
		particle := i > 0 && i < len(q.words)-1 && slices.Contains([]string{"van", "von", "de", "der", "den", "da", "di", "bin", "ibn", "al", "el", "la"}, word)
		if !particle && (!capitalized(word) || slices.Contains(notNames, strings.ToLower(word)) || strings.ContainsAny(word, "0123456789")) {
			return false
		}
	}
	return true
}

// capitalized reports whether a word is written like a name: Ada, but not ADA unless it is an initial.
func capitalized(word string) bool {
	first, n := utf8.DecodeRuneInString(word)
	return unicode.IsUpper(first) && (len(word) == n || word != strings.ToUpper(word) || len(word) <= n+1)
}
