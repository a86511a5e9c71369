package plane

import (
	"regexp"
	"strings"
)

// The kinds of skills: what runs them.
const (
	SkillHosted = "hosted" // an HTTP service: an upstream of the dialect native
	SkillPython = "python" // a module in a worker; reserved
	SkillChain  = "chain"  // other skills in an order; reserved
)

// SkillSpec is a skill that callers can invoke by name.
type SkillSpec struct {
	Name        string `json:"name"`        // "biometrix_enroll"
	Description string `json:"description"` // one sentence, for people and for models that choose among skills
	Kind        string `json:"kind"`        // one of the Skill words
	Family      string `json:"family"`      // a key needs the family and the task in its scope
	Task        string `json:"task"`
	Upstream    string `json:"upstream"` // ID of the UpstreamSpec or the PoolSpec; empty means not configured
	Path        string `json:"path"`     // behind its base URL, "/skills/biometrix_enroll"
	Setting     string `json:"setting"`  // the setting that would configure it, named in the 503
}

const (
	skillNamePattern = `^[a-z][a-z0-9_]{0,63}$`
	skillPathPattern = `^(/[A-Za-z0-9._~-]+)+$`
)

func (k *check) skill(c *Current, name string, s SkillSpec) {
	where := "skill \"" + name + "\""
	if s.Name != name || !regexp.MustCompile(skillNamePattern).MatchString(name) {
		k.fault("%s: its name field is %q; both must be the same, of at most 64 lower-case letters, digits and underscores", where, s.Name)
	}
	if s.Family == "" || s.Task == "" {
		k.fault("%s: family and task must be set; they are what a key needs in its scope", where)
	}
	switch s.Kind {
	case SkillHosted:
		k.hosted(c, where, s)
	case SkillPython, SkillChain:
		k.fault("%s: kind %s is reserved and cannot run yet; only %s can", where, s.Kind, SkillHosted)
	default:
		k.fault("%s: kind is %q; it must be %s", where, s.Kind, SkillHosted)
	}
}

func (k *check) hosted(c *Current, where string, s SkillSpec) {
	if !regexp.MustCompile(skillPathPattern).MatchString(s.Path) || strings.Contains(s.Path, "/..") {
		k.fault("%s: path is %q; it must be a plain path behind the upstream's base_url, like /skills/%s", where, s.Path, s.Name)
	}
	if s.Upstream == "" {
		return
	}
	target, ok := c.Target(s.Upstream)
	switch {
	case !ok:
		k.fault("%s names %q, which is neither an upstream nor a pool", where, s.Upstream)
	case target.Dialect != DialectNative:
		k.fault("%s: %q speaks %q; a hosted skill is asked in %q", where, s.Upstream, target.Dialect, DialectNative)
	}
}
