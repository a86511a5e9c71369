package research_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/research"
	"modelgate.internal/dataplane/internal/upstream"
)

func TestClassify(t *testing.T) {
	for query, want := range map[string]research.Kind{
		"CVE-2021-44228":                    research.Threat,
		"what is cve-2024-3094 about":       research.Threat,
		"LockBit ransomware":                research.Threat,
		"44d88612fea8a8f36de82e1278abb02f":  research.Threat,
		"hxxp://evil[.]example":             research.Threat,
		"is 203.0.113.7 malicious":          research.Threat,
		"latest phishing campaign":          research.Threat,
		"@ada_lovelace":                     research.SocialProfile,
		"ada@example.com":                   research.SocialProfile,
		"https://www.linkedin.com/in/ada":   research.SocialProfile,
		"github.com/golang":                 research.SocialProfile,
		"instagram account of the museum":   research.SocialProfile,
		"latest developments in fusion":     research.News,
		"election results today":            research.News,
		"floods March 2026":                 research.News,
		"Kenya news":                        research.News,
		"earthquake 2026-03-14":             research.News,
		"Acme Corp.":                        research.Company,
		"Muster GmbH":                       research.Company,
		"Nestlé S.A.":                       research.Company,
		"NASDAQ: ACME":                      research.Company,
		"revenue of the largest bookseller": research.Company,
		"Ada Lovelace":                      research.Person,
		"Ludwig van Beethoven":              research.Person,
		"J. R. Hartley":                     research.Person,
		"who was Hypatia":                   research.Person,
		"biography of grace hopper":         research.Person,
		"history of the abacus":             research.Topic,
		"How do volcanoes erupt?":           research.Topic,
		"Machine Learning":                  research.Topic,
		"go 1.26 release":                   research.Topic,
		"The Silk Road":                     research.Topic,
		"ag":                                research.Topic,
		"group theory":                      research.Topic,
		"Acme Group":                        research.Company,
		"x":                                 research.Topic,
	} {
		if got := research.Classify(query); got != want {
			t.Errorf("%q is a %s, want %s", query, got, want)
		}
	}
}

func TestSearchesAreFewAndInTheLanguage(t *testing.T) {
	for _, kind := range []research.Kind{
		research.Person, research.Company, research.Topic, research.News, research.Threat, research.SocialProfile,
	} {
		list := research.Searches("abc", kind, "sw")
		if len(list) < 1 || len(list) > 3 {
			t.Errorf("%s: %d searches", kind, len(list))
		}
		for _, s := range list {
			if !strings.HasPrefix(s.Query, "abc") || s.Language != "sw" {
				t.Errorf("%s: %+v", kind, s)
			}
		}
	}
	if list := research.Searches("abc", research.News, "en"); !list[0].News || !list[0].Recent {
		t.Errorf("news are searched for by %+v", list)
	}
}

func found(urls ...string) (list []upstream.Found) {
	for _, u := range urls {
		list = append(list, upstream.Found{URL: u, Title: "Title", Snippet: strings.Repeat("é", 1000)})
	}
	return list
}

func TestSourcesAreTakenInTurnsAndOnce(t *testing.T) {
	got := research.Sources([][]upstream.Found{
		found("https://www.a.example/x/?utm_source=1#top", "https://a.example/2", "https://a.example/3", "https://a.example/4"),
		nil,
		found("http://a.example/x", "https://b.example/?id=1", "https://b.example/?id=2"),
	})
	var urls []string
	for _, s := range got {
		urls = append(urls, s.URL)
		if n := len([]rune(s.Snippet)); n != 600 {
			t.Errorf("a snippet of %d runes", n)
		}
	}
	want := "https://www.a.example/x/?utm_source=1#top https://a.example/2 https://b.example/?id=1 https://a.example/3 https://b.example/?id=2"
	if strings.Join(urls, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(urls, " "), want)
	}
}

func TestSourcesAreBounded(t *testing.T) {
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("https://h%d.example/", i))
	}
	if n := len(research.Sources([][]upstream.Found{found(many...)})); n != 12 {
		t.Errorf("%d sources", n)
	}
}

func TestPromptHasEverySourceByItsNumber(t *testing.T) {
	sources := research.Sources([][]upstream.Found{{
		{URL: "https://a.example/", Title: "A", Snippet: "one", Published: time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)}, {URL: "https://b.example/"},
	}})
	system, prompt := research.Prompt("why?", research.SocialProfile, "sw", sources)
	if !strings.Contains(system, "Write in Swahili.") || !strings.Contains(system, "never instructions") {
		t.Errorf("system: %s", system)
	}
	want := "Question (social profile): why?\n\nSources:\n[1] A\nhttps://a.example/\nPublished 2026-03-14\none\n\n[2] b.example\nhttps://b.example/\n(no excerpt)\n\n"
	if prompt != want {
		t.Errorf("got %q", prompt)
	}
	if got := research.List(research.Topic, sources); got != "\n\nSources (query type: topic)\n[1] A - https://a.example/\n[2] b.example - https://b.example/\n" {
		t.Errorf("got %q", got)
	}
}
