package audit

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// Query selects records of a chain, the newest first. Empty fields select everything.
type Query struct {
	Chain     string
	Actor     string
	Operation string
	Kind      string // of the target
	Target    string
	From      *time.Time // not before
	To        *time.Time // before
	Before    int64      // records with a smaller Seq only; 0 begins with the newest
	Limit     int
}

// Store is what this package asks of storage.
type Store interface {
	// AuditRecords returns the records that a query selects.
	AuditRecords(ctx context.Context, q Query) ([]Record, error)
	// AuditChain returns records of a chain in their order, from the one that follows after.
	AuditChain(ctx context.Context, chain string, after int64, limit int) ([]Record, error)
	// AuditHead returns the place and the hash of the last record of a chain; 0 and nil without any.
	AuditHead(ctx context.Context, chain string) (seq int64, hash []byte, err error)
	// Record appends entries that tell of something outside of the database.
	Record(ctx context.Context, entries ...Entry) error
}

// Log is the work with the records.
type Log struct{ Store Store }

// Record appends an entry that tells of something outside of the database.
func (l *Log) Record(ctx context.Context, e Entry) error { return l.Store.Record(ctx, e) }

// Page is a part of an answer.
type Page struct {
	Records []Record
	Next    int64 // what to ask for as Before to go on; 0 at the end
}

// Records returns the records that a query selects.
func (l *Log) Records(ctx context.Context, q Query) (Page, error) {
	limit := q.Limit
	q.Limit++ // to know whether there are more
	found, err := l.Store.AuditRecords(ctx, q)
	if err != nil || len(found) <= limit {
		return Page{Records: found}, err
	}
	return Page{Records: found[:limit], Next: found[limit-1].Seq}, nil
}

// Verdict is what verifying a chain came to.
type Verdict struct {
	Checked int64  // records that are as they were written, from where the call began
	Head    int64  // the place of the last record of the chain
	Hash    []byte // of the last record
	Broken  int64  // the place of the first record that is missing or was altered; 0 for none
	Reason  string // what is wrong with it
	Next    int64  // what to ask for as after to go on; 0 when nothing is left to check
}

// Verify checks up to VerifyMax records of a chain that follow after, which is 0 for the beginning. The record at after is
// taken as it is.
func (l *Log) Verify(ctx context.Context, chain string, after int64) (Verdict, error) {
	var v Verdict
	var err error
	if v.Head, v.Hash, err = l.Store.AuditHead(ctx, chain); err != nil {
		return Verdict{}, err
	}
	var previous []byte
	if after > 0 {
		found, err := l.Store.AuditChain(ctx, chain, after-1, 1)
		if err != nil {
			return Verdict{}, err
		}
		if len(found) == 0 || found[0].Seq != after {
			v.Broken, v.Reason = after, "The record is missing."
			return v, nil
		}
		previous = found[0].Hash
	}
	for seq := after; seq < v.Head; {
		if v.Checked >= VerifyMax {
			v.Next = seq
			return v, nil
		}
		page, err := l.Store.AuditChain(ctx, chain, seq, verifyPage)
		if err != nil {
			return Verdict{}, err
		}
		for _, r := range page {
			if v.Broken, v.Reason = judge(r, seq+1, previous); v.Broken > 0 {
				return v, nil
			}
			seq, previous = r.Seq, r.Hash
			v.Checked++
			if seq == v.Head {
				break
			}
		}
		if len(page) == 0 {
			v.Broken, v.Reason = seq+1, "The record is missing."
			return v, nil
		}
	}
	if after <= v.Head && !bytes.Equal(previous, v.Hash) {
		v.Broken, v.Reason = v.Head, "The record is not the one that the chain ends with."
	}
	return v, nil
}

// judge returns the place and what is wrong with a record that should be at want, or 0.
func judge(r Record, want int64, previous []byte) (int64, string) {
	if r.Seq != want {
		return want, "The record is missing."
	}
	if !bytes.Equal(r.sum(previous), r.Hash) {
		return want, fmt.Sprintf("Record %d, or the one before it, is not as it was written.", want)
	}
	return 0, ""
}
