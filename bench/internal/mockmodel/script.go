package mockmodel

import (
	"fmt"
	"strings"
	"sync"

	"modelgate.internal/bench/internal/mockmodel/fault"
)

// script chooses faults by model and counts how often each was chosen.
type script struct {
	mu    sync.Mutex
	steps map[string][]*fault.Call
	at    map[string]int
	// used counts choices with a "times" parameter.
	used map[string]int
}

func newScript(text string) (*script, error) {
	s := &script{}
	return s, s.replace(text)
}

// replace reads a script and starts anew; a script that cannot be read changes nothing.
func (s *script) replace(text string) error {
	steps := map[string][]*fault.Call{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		call, err := fault.FromFields(fields[1:])
		if err != nil {
			return fmt.Errorf("script line %d: %w", n, err)
		}
		steps[fields[0]] = append(steps[fields[0]], call)
	}
	s.mu.Lock()
	s.steps = steps
	s.mu.Unlock()
	s.reset()
	return nil
}

// reset starts all counters anew.
func (s *script) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.used = map[string]int{}, map[string]int{}
}

// models are the names that the script makes known.
func (s *script) models() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.steps))
	for name := range s.steps {
		names = append(names, name)
	}
	return names
}

// next is the step for one more request of a model, nil if the script does not know it.
func (s *script) next(model string) *fault.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	steps := s.steps[model]
	if len(steps) == 0 {
		return nil
	}
	i := min(s.at[model], len(steps)-1)
	s.at[model]++
	return steps[i]
}

// spend reports whether a choice is still in force under its "times" parameter.
func (s *script) spend(c *fault.Call) bool {
	if c.Times == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.used) >= maxTimesChoices {
		clear(s.used) // bounded memory matters more than the count of long gone tests
	}
	s.used[c.String()]++
	return s.used[c.String()] <= c.Times
}
