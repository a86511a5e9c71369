package ledger

import (
	"fmt"
	"strconv"
	"time"
	_ "time/tzdata" // zones do not depend on the machine

	"modelgate.internal/shared/apierr"
)

const day = 24 * time.Hour

// Question is a range of time and how its series is cut.
type Question struct {
	Days int    // up to and with today
	Unit Unit   // of the points; empty means hours up to HourlyDays days, else days
	Zone string // name of the time zone (IANA) whose days they are; empty means UTC
}

// window is the answer's range, the rollups to read and the points to show. Points never cross midnight of the zone.
type window struct {
	days     int
	unit     Unit // of rollups
	shown    Unit // of points
	step     time.Duration
	zone     *time.Location
	from, to time.Time
	starts   []time.Time // of the points
}

// window says what to read. Errors: 422.
func (q Question) window(now time.Time) (*window, error) {
	if q.Days < 1 || q.Days > DaysMax {
		return nil, outOfRange(q.Days)
	}
	zone, err := time.LoadLocation(q.Zone)
	if err != nil || q.Zone == "Local" || len(q.Zone) > ZoneBytesMax {
		return nil, refused("tz", "it must be the name of a time zone such as Europe/Berlin", q.Zone)
	}
	w := &window{days: q.Days, shown: q.Unit, zone: zone}
	if w.shown == "" {
		w.shown = Day
		if q.Days <= HourlyDays {
			w.shown = Hour
		}
	}
	local := now.In(zone)
	today := midnight(local)
	w.from = today.AddDate(0, 0, 1-q.Days)
	switch w.shown {
	case Minute, Hour:
		return w, w.even(now)
	case Day:
		w.unit, w.step, w.to = Hour, day, today.AddDate(0, 0, 1)
		if zone == time.UTC {
			w.unit = Day
		}
		for at := w.from; at.Before(w.to); at = at.AddDate(0, 0, 1) {
			w.starts = append(w.starts, at)
		}
		return w, nil
	}
	return nil, refused("bucket", "it must be minute, hour or day", string(q.Unit))
}

// even cuts the range into the shortest steps that make at most PointsMax points.
func (w *window) even(now time.Time) error {
	most, unit, steps := MinuteDaysMax, time.Minute, []int{1, 2, 5, 10, 15, 30}
	if w.unit = w.shown; w.shown == Hour {
		most, unit, steps = HourDaysMax, time.Hour, []int{1, 2, 3, 4, 6, 12}
	}
	if w.days > most {
		return refused("bucket", fmt.Sprintf("%s is for up to %d days", w.shown, most), string(w.shown))
	}
	w.to = now.Truncate(unit).Add(unit)
	for _, n := range steps {
		w.step, w.starts = time.Duration(n)*unit, w.starts[:0]
		for at := w.from; at.Before(w.to); at = at.AddDate(0, 0, 1) {
			end := at.AddDate(0, 0, 1)
			for ; at.Before(end) && at.Before(w.to); at = at.Add(w.step) {
				w.starts = append(w.starts, at)
			}
			at = end.AddDate(0, 0, -1)
		}
		if len(w.starts) <= PointsMax {
			break
		}
	}
	return nil
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

func refused(parameter, text, input string) error {
	return apierr.Violations(apierr.Item{Type: "value_error", Loc: []any{"query", parameter}, Msg: "Value error, " + text, Input: input})
}

func outOfRange(days int) error {
	item := apierr.Item{
		Type: "greater_than_equal", Loc: []any{"query", "days"}, Msg: "Input should be greater than or equal to 1",
		Input: strconv.Itoa(days), Ctx: map[string]any{"ge": 1},
	}
	if days > DaysMax {
		item.Type, item.Msg = "less_than_equal", fmt.Sprintf("Input should be less than or equal to %d", DaysMax)
		item.Ctx = map[string]any{"le": DaysMax}
	}
	return apierr.Violations(item)
}
