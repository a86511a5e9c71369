package meter

import (
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/spool"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// retryAfter is told to callers that are refused because nothing can be written down.
const retryAfter = 5 * time.Second

// Meter records calls.
type Meter struct{ spool *spool.Spool }

// New returns a meter that writes to s.
func New(s *spool.Spool) *Meter { return &Meter{s} }

// Record counts a call that ended at now with the given status and outcome. For a whole answer or a refusal the outcome has
// no first event. When Record returns nil, the record survives the death of the process.
func (m *Meter) Record(c *call.Call, status int, o *call.Outcome, now time.Time) error {
	if c.Caller == nil {
		return nil
	}
	r := record(c, status, o, now)
	ticket, _ := c.Running.(*spool.Ticket)
	c.Running = nil
	return m.spool.End(ticket, &r)
}

var errNoJournal = apierr.New(apierr.Unavailable, "Usage cannot be recorded at the moment, so no calls are answered.").After(retryAfter)

// Begin implements [call.Journal]: should the node die before Record, its next process counts the call.
func (m *Meter) Begin(c *call.Call) (call.Running, error) {
	r := record(c, 0, &call.Outcome{}, c.Started)
	r.TokensIn = c.Facts.Prompt
	ticket, err := m.spool.Begin(&r)
	if err != nil {
		return nil, errNoJournal.Because(err)
	}
	return ticket, nil
}

func record(c *call.Call, status int, o *call.Outcome, now time.Time) plane.UsageRecord {
	p := c.Caller.Principal
	r := plane.UsageRecord{
		RequestID:   c.ID,
		At:          c.Started,
		AccountID:   p.Account(),
		DeveloperID: p.DeveloperID,
		AppID:       p.AppID,
		KeyID:       p.KeyID,
		Endpoint:    c.Endpoint,
		Model:       c.Facts.Model,
		Task:        c.Facts.Task,
		Backend:     c.Facts.Backend,
		Status:      status,
		End:         o.End,
		Source:      o.Usage.Source,
		TokensIn:    o.Usage.TokensIn,
		TokensOut:   o.Usage.TokensOut,
		Took:        max(now.Sub(c.Started), 0),
		Sandbox:     p.Kind == key.Test,
	}
	if r.Source == "" {
		r.Source = plane.SourceNone
	}
	if !o.First.IsZero() {
		r.TTFT = max(o.First.Sub(c.Started), 0)
	}
	return r
}
