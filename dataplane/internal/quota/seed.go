package quota

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"time"

	"modelgate.internal/dataplane/internal/quota/client"
)

// Days tells how many calls count against the quotas of accounts on the UTC day that begins at day. An account without calls
// may be missing.
type Days func(ctx context.Context, accounts []string, day time.Time) (map[string]int64, error)

// question is for the count of an account on a day.
type question struct {
	cell *client.Cell
	day  uint32 // since 1970
}

// askDay is called by the leases.
func (n *Node) askDay(c *client.Cell, day uint32) {
	select {
	case n.unknown <- question{c, day}:
	default: // it is asked again
	}
}

// runSeeder takes questions to the control plane, many at a time. What is not answered is asked again by the leases.
func (n *Node) runSeeder(ctx context.Context) error {
	told := false
	for {
		var q question
		select {
		case <-ctx.Done():
			return nil
		case q = <-n.unknown:
		}
		asked := n.gatherDays(ctx, q)
		if err := n.answerDays(ctx, asked); err != nil && ctx.Err() == nil {
			if !told {
				n.o.Log.Warn("the rate-limit ledger is new or was recovered, and the control plane does not tell what was counted today: "+
					"calls with a daily limit wait", slog.Any("error", err))
			}
			told = true
		} else {
			told = false
		}
	}
}

// gatherDays takes what came together with a question about the same day.
func (n *Node) gatherDays(ctx context.Context, first question) []question {
	pause, cancel := context.WithTimeout(ctx, daysPause)
	defer cancel()
	asked := []question{first}
	for len(asked) < daysBatch {
		select {
		case q := <-n.unknown:
			if q.day != first.day {
				return asked // a new day has begun, and the ledger does not ask for it
			}
			asked = append(asked, q)
		case <-pause.Done():
			return asked
		}
	}
	return asked
}

func (n *Node) answerDays(ctx context.Context, asked []question) error {
	const daySeconds = 24 * 60 * 60
	ctx, cancel := context.WithTimeout(ctx, daysTime)
	defer cancel()
	accounts := make([]string, len(asked))
	for i, q := range asked {
		accounts[i] = accountOf(q.cell)
	}
	calls, err := n.o.Days(ctx, accounts, time.Unix(int64(asked[0].day)*daySeconds, 0).UTC())
	if err != nil {
		return err
	}
	for i, q := range asked {
		n.leases.Seed(q.cell, calls[accounts[i]])
	}
	return nil
}

// accountOf is the subject of a daily limit: a UUID, as all accounts of the control plane have.
func accountOf(c *client.Cell) string {
	id := c.ID()
	raw := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, id.Hi), id.Lo)
	s := hex.EncodeToString(raw)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
