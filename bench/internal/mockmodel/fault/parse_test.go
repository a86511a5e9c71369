package fault

import (
	"strings"
	"testing"
	"time"
)

func TestCatalogueIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range List() {
		if seen[s.Name] || s.Name == "" || s.Doc == "" || s.run == nil {
			t.Errorf("scenario %q is there twice or incomplete", s.Name)
		}
		seen[s.Name] = true
		c, err := FromModel(s.Name)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		for _, p := range s.Params {
			if err := c.set(p.Name, p.Default); err != nil || p.Doc == "" {
				t.Errorf("%s: default of %s: %v", s.Name, p.Name, err)
			}
		}
	}
	if len(seen) < 40 {
		t.Errorf("only %d scenarios", len(seen))
	}
}

func TestFromModel(t *testing.T) {
	for _, tc := range []struct{ in, text, bad string }{
		{"cut-after", "cut-after", ""},
		{"cut-after-3", "cut-after n=3", ""},
		{"html-200", "html-200", ""},
		{"status-429,retry-after=2", "status code=429 retry-after=2", ""},
		{"status-html-503", "status-html code=503", ""},
		{"slow-first-1500ms,times=2,id=a", "slow-first delay=1500ms id=a times=2", ""},
		{"nothing", "", "unknown scenario"},
		{"cut-after-x", "", "not a number"},
		{"cut-after,m=1", "", "no parameter"},
		{"cut-after,n", "", "KEY=VALUE"},
		{"slow-head-11m", "", "not a duration"},
		{"no-done-3", "", "unknown scenario"},
		{"", "", "unknown scenario"},
	} {
		c, err := FromModel(tc.in)
		switch {
		case tc.bad != "" && (err == nil || !strings.Contains(err.Error(), tc.bad)):
			t.Errorf("%q: error %v, want %q", tc.in, err, tc.bad)
		case tc.bad == "" && err != nil:
			t.Errorf("%q: %v", tc.in, err)
		case tc.bad == "" && c.String() != tc.text:
			t.Errorf("%q is %q, want %q", tc.in, c.String(), tc.text)
		}
	}
}

func TestFromText(t *testing.T) {
	c, rest, err := FromText("hello [[scenario:slow-events delay=250]] world")
	if err != nil || rest != "hello world" || c.String() != "slow-events delay=250" {
		t.Fatalf("%v %q %v", c, rest, err)
	}
	x := &Exchange{values: c.values}
	if got := x.duration("delay"); got != 250*time.Millisecond {
		t.Errorf("delay is %s", got)
	}
	for _, plain := range []string{"hello", "[[scenario:cut-after", "]] [[scenario"} {
		if c, rest, err := FromText(plain); c != nil || rest != plain || err != nil {
			t.Errorf("%q: %v %q %v", plain, c, rest, err)
		}
	}
	if _, _, err := FromText("[[scenario: ]]"); err == nil {
		t.Error("a token without a name is accepted")
	}
}
