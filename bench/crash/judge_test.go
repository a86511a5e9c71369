package crash

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"modelgate.internal/shared/plane"
)

// judge compares what callers saw, which calls the model server saw, and the records by call. It returns what is wrong.
func judge(calls map[string]seen, served map[string]int, records map[string][]plane.UsageRecord) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		c, got := calls[id], records[id]
		switch {
		case len(got) > 1:
			say("%s is counted %d times: %+v", id, len(got), got)
		case len(got) == 0 && c.how == whole:
			say("%s was received whole and is not counted", id)
		case len(got) == 0 && served[id] > 0:
			say("%s was served by the model and is not counted; its caller saw %+v", id, c)
		case len(got) == 0:
		case c.how == whole && (got[0].End != plane.EndDone || got[0].Status != 200):
			say("%s was received whole and is counted as %+v", id, got[0])
		case got[0].End == plane.EndNodeCrash && got[0].TokensOut < int64(c.events):
			say("%s was cut after its caller had %d events and is counted as %+v", id, c.events, got[0])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(records)) {
		if _, ok := calls[id]; !ok {
			say("nobody made the call %s: %+v", id, records[id])
		}
	}
	return wrong
}

// TestTheJudgeSeesWhatIsWrong shows that each rule can fail.
func TestTheJudgeSeesWhatIsWrong(t *testing.T) {
	t.Parallel()
	done := plane.UsageRecord{End: plane.EndDone, Status: 200, TokensOut: 12}
	cut := plane.UsageRecord{End: plane.EndNodeCrash, Status: 200, TokensOut: 3}
	for name, tt := range map[string]struct {
		call    seen
		served  int
		records []plane.UsageRecord
		wrong   int
	}{
		"whole and counted":            {seen{how: whole, events: 12}, 1, []plane.UsageRecord{done}, 0},
		"cut and counted":              {seen{how: broken, events: 3}, 1, []plane.UsageRecord{cut}, 0},
		"never let in":                 {seen{how: broken}, 0, nil, 0},
		"whole and counted twice":      {seen{how: whole, events: 12}, 1, []plane.UsageRecord{done, done}, 1},
		"whole and counted as cut too": {seen{how: whole, events: 12}, 1, []plane.UsageRecord{done, cut}, 1},
		"whole and only cut":           {seen{how: whole, events: 12}, 1, []plane.UsageRecord{cut}, 1},
		"whole and lost":               {seen{how: whole, events: 12}, 1, nil, 1},
		"served and lost":              {seen{how: broken}, 1, nil, 1},
		"cut with too little":          {seen{how: broken, events: 4}, 1, []plane.UsageRecord{cut}, 1},
	} {
		records := map[string][]plane.UsageRecord{}
		if tt.records != nil {
			records["a"] = tt.records
		}
		if got := judge(map[string]seen{"a": tt.call}, map[string]int{"a": tt.served}, records); len(got) != tt.wrong {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := judge(nil, nil, map[string][]plane.UsageRecord{"a": {done}}); len(got) != 1 {
		t.Errorf("a call that nobody made: %q", got)
	}
}
