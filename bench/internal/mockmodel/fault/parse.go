package fault

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"
)

const (
	tokenOpen  = "[[scenario:"
	tokenClose = "]]"
)

// FromModel reads the suffix of a model name: NAME, NAME-VALUE (VALUE sets the first parameter), either followed
// by ",KEY=VALUE" pairs. For instance "cut-after-3" or "status-429,retry-after=2".
func FromModel(suffix string) (*Call, error) {
	fields := strings.Split(suffix, ",")
	return build(fields[0], fields[1:])
}

// FromText looks for "[[scenario:NAME KEY=VALUE ...]]" in a message. It returns the message without it, and a nil
// call if there is none.
func FromText(message string) (call *Call, rest string, err error) {
	before, after, found := strings.Cut(message, tokenOpen)
	inside, behind, closed := strings.Cut(after, tokenClose)
	if !found || !closed {
		return nil, message, nil
	}
	fields := strings.Fields(inside)
	if len(fields) == 0 {
		return nil, message, fmt.Errorf("a scenario token needs a name")
	}
	call, err = build(fields[0], fields[1:])
	return call, strings.TrimSpace(before + strings.TrimLeft(behind, " ")), err
}

// FromFields reads a name and KEY=VALUE pairs that are already apart, as in a script file.
func FromFields(fields []string) (*Call, error) {
	if len(fields) == 0 {
		return nil, fmt.Errorf("a scenario needs a name")
	}
	return build(fields[0], fields[1:])
}

func build(name string, pairs []string) (*Call, error) {
	s, value, ok := find(name)
	if !ok {
		return nil, fmt.Errorf("unknown scenario %q", name)
	}
	c := &Call{Scenario: s, values: map[string]string{}}
	for _, p := range s.Params {
		c.values[p.Name] = p.Default
	}
	if value != "" {
		pairs = append([]string{s.Params[0].Name + "=" + value}, pairs...)
	}
	given := map[string]string{}
	for _, pair := range pairs {
		key, v, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("scenario %s: %q is not KEY=VALUE", s.Name, pair)
		}
		if err := c.set(key, v); err != nil {
			return nil, err
		}
		given[key] = v
	}
	keys := make([]string, 0, len(given))
	for key := range given {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	c.text = s.Name
	for _, key := range keys {
		c.text += " " + key + "=" + given[key]
	}
	return c, nil
}

func (c *Call) set(key, value string) error {
	var kind string
	switch p := c.Scenario.param(key); {
	case p != nil:
		kind = p.Kind
	case key == "times":
		kind = "count"
	case key == "id":
		kind = "text"
	default:
		return fmt.Errorf("scenario %s has no parameter %q (it has %s)", c.Scenario.Name, key, c.Scenario.hints())
	}
	var err error
	switch kind {
	case "count":
		_, err = parseCount(value)
	case "duration":
		_, err = parseDuration(value)
	}
	if err != nil {
		return fmt.Errorf("scenario %s: %s: %w", c.Scenario.Name, key, err)
	}
	if key == "times" {
		c.Times, _ = parseCount(value)
	} else if key != "id" {
		c.values[key] = value
	}
	return nil
}

// find looks a name up, whole or as the longest NAME of NAME-VALUE.
func find(name string) (s Scenario, value string, ok bool) {
	for _, candidate := range List() {
		if name == candidate.Name {
			return candidate, "", true
		}
		v, cut := strings.CutPrefix(name, candidate.Name+"-")
		if cut && v != "" && len(candidate.Params) > 0 && len(candidate.Name) > len(s.Name) {
			s, value, ok = candidate, v, true
		}
	}
	return s, value, ok
}

func parseCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxCount {
		return 0, fmt.Errorf("%q is not a number from 0 to %d", s, maxCount)
	}
	return n, nil
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if ms, bare := strconv.Atoi(s); bare == nil {
		d, err = time.Duration(ms)*time.Millisecond, nil
	}
	if err != nil || d < 0 || d > maxDuration {
		return 0, fmt.Errorf("%q is not a duration from 0 to %s", s, maxDuration)
	}
	return d, nil
}
