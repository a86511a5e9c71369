package fault

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	maxCount    = 100_000_000
	maxDuration = 10 * time.Minute
)

// Scenario is one kind of misbehaviour.
type Scenario struct {
	// Name selects it, for instance "cut-after".
	Name string
	// Doc says in one line what the caller sees.
	Doc string
	// Params are what can be set, the first one also by NAME-VALUE.
	Params []Param
	// Breaks is true if the answer does not end as the protocol demands.
	Breaks bool
	run    func(*Exchange) error
}

// Param is a parameter of a scenario.
type Param struct {
	// Name is the key in NAME=VALUE.
	Name string
	// Kind is "count" (integer from 0), "duration" (Go syntax, a bare number is milliseconds) or "text".
	Kind string
	// Default is used when the parameter is not given.
	Default string
	// Doc says what it sets, with its unit.
	Doc string
}

// List is the catalogue of all scenarios.
func List() []Scenario {
	var all []Scenario
	for _, group := range [][]Scenario{timing(), cuts(), events(), frames(), heads(), answers()} {
		all = append(all, group...)
	}
	return all
}

// Describe writes the catalogue for people.
func Describe(w io.Writer) {
	for _, s := range List() {
		fmt.Fprintf(w, "%s\n    %s\n", s.Name, s.Doc)
		for _, p := range s.Params {
			fmt.Fprintf(w, "      %s (%s, default %q): %s\n", p.Name, p.Kind, p.Default, p.Doc)
		}
	}
}

// Call is a scenario with its parameters: what one request asked for.
type Call struct {
	Scenario Scenario
	values   map[string]string
	// Times is the number of requests with this very call that are to fail; later ones are answered normally.
	// 0 means all.
	Times int
	text  string
}

// String is the canonical spelling of the call.
func (c *Call) String() string { return c.text }

func count(name, def, doc string) Param    { return Param{name, "count", def, doc} }
func duration(name, def, doc string) Param { return Param{name, "duration", def, doc} }
func text(name, def, doc string) Param     { return Param{name, "text", def, doc} }

// Run plays the call on an exchange and reports whether the answer was broken on purpose.
func (c *Call) Run(x *Exchange) (broken bool, err error) {
	x.values = c.values
	return c.Scenario.Breaks, c.Scenario.run(x)
}

// Normal answers without any fault.
func Normal(x *Exchange) error {
	return x.send(x.http(), lines("\n"), x.payloads())
}

func (s *Scenario) param(name string) *Param {
	for i := range s.Params {
		if s.Params[i].Name == name {
			return &s.Params[i]
		}
	}
	return nil
}

func (s *Scenario) hints() string {
	names := make([]string, 0, len(s.Params))
	for _, p := range s.Params {
		names = append(names, p.Name)
	}
	return strings.Join(append(names, "times", "id"), ", ")
}
