package ingest

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/google/uuid"

	"modelgate.internal/shared/usage"
)

// EdgeDay is what a node says a key was used for on a UTC day.
type EdgeDay struct {
	EdgeID
	Calls, TokensIn, TokensOut int64
}

// EdgeID is whose use it is and when.
type EdgeID struct {
	App     uuid.UUID // nil for Darwin tokens, and like the others when the node sent none that can be read
	Bucket  int64     // start in Unix seconds
	Key     uuid.UUID
	Account uuid.UUID
}

func edges(stated []usage.StatedLine) []EdgeDay {
	all := make(map[EdgeID]EdgeDay, len(stated))
	for _, s := range stated {
		id := EdgeID{App: parsed(s.App), Bucket: s.Day, Key: parsed(s.Key), Account: parsed(s.Account)}
		e := all[id]
		e.EdgeID = id
		e.Calls += s.Calls
		e.TokensIn += s.TokensIn
		e.TokensOut += s.TokensOut
		all[id] = e
	}
	return sorted(all)
}

// fresh is what is stated less the records that were counted before. The sums of the node and those of the records that are
// counted here meet only in the database, where the ledger compares them.
func fresh(stated []EdgeDay, before []line) []EdgeDay {
	if len(before) == 0 {
		return stated
	}
	all := make(map[EdgeID]EdgeDay, len(stated))
	for _, e := range stated {
		all[e.EdgeID] = e
	}
	add(all, before, -1)
	for id, e := range all {
		if e.Calls == 0 && e.TokensIn == 0 && e.TokensOut == 0 {
			delete(all, id)
		}
	}
	return sorted(all)
}

// own is what some lines are to be stated as.
func own(lines []line) []EdgeDay {
	all := make(map[EdgeID]EdgeDay)
	add(all, lines, 1)
	return sorted(all)
}

// add adds lines to what is stated, or with the sign -1 takes them away.
func add(all map[EdgeID]EdgeDay, lines []line, sign int64) {
	for i := range lines {
		l := &lines[i]
		if l.at.IsZero() { // it does not decode, so it is not in the statement
			continue
		}
		id := EdgeID{App: l.id.App, Bucket: floor(l.at.Unix(), daySeconds), Key: l.id.Key, Account: l.id.Account}
		e := all[id]
		e.EdgeID = id
		e.Calls += sign
		e.TokensIn += sign * l.tokensIn
		e.TokensOut += sign * l.tokensOut
		all[id] = e
	}
}

func sorted(all map[EdgeID]EdgeDay) []EdgeDay {
	list := make([]EdgeDay, 0, len(all))
	for _, e := range all {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b EdgeDay) int {
		return cmp.Or(bytes.Compare(a.App[:], b.App[:]), cmp.Compare(a.Bucket, b.Bucket), bytes.Compare(a.Key[:], b.Key[:]),
			bytes.Compare(a.Account[:], b.Account[:]))
	})
	return list
}

func floor(at, step int64) int64 { return at - ((at%step)+step)%step }

// parsed is the nil UUID for a text that is none.
func parsed(text string) uuid.UUID {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil
	}
	return id
}
