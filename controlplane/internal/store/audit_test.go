package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/plan"
)

func fillChain(t *testing.T, s *Store, chain string, n int) {
	t.Helper()
	ctx := audit.With(t.Context(), audit.Origin{Actor: "a", SessionID: "s", Address: "192.0.2.7", Operation: "op"})
	for i := range n {
		if err := s.Record(ctx, audit.Entry{Chain: chain, Kind: audit.App, Target: fmt.Sprint(i), After: map[string]any{"n": i}}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryAlterationOfTheAuditLogIsFound(t *testing.T) {
	s := open(t)
	d := developer(t, s, plan.Free)
	log := audit.Log{Store: s}
	fillChain(t, s, d.ID, 5) // after the one of the registration
	v, err := log.Verify(t.Context(), d.ID, 0)
	if err != nil || v.Broken != 0 || v.Checked != 6 || v.Head != 6 {
		t.Fatalf("before: %+v %v", v, err)
	}
	for name, tt := range map[string]struct {
		sql  string
		want int64
	}{
		"actor":        {`UPDATE audit_records SET actor = 'b' WHERE chain = $1 AND seq = 3`, 3},
		"session":      {`UPDATE audit_records SET session_id = 'b' WHERE chain = $1 AND seq = 3`, 3},
		"address":      {`UPDATE audit_records SET address = '' WHERE chain = $1 AND seq = 3`, 3},
		"operation":    {`UPDATE audit_records SET operation = 'b' WHERE chain = $1 AND seq = 3`, 3},
		"kind":         {`UPDATE audit_records SET kind = 'b' WHERE chain = $1 AND seq = 3`, 3},
		"target":       {`UPDATE audit_records SET target = 'b' WHERE chain = $1 AND seq = 3`, 3},
		"before":       {`UPDATE audit_records SET before = 'null' WHERE chain = $1 AND seq = 3`, 3},
		"after":        {`UPDATE audit_records SET after = NULL WHERE chain = $1 AND seq = 3`, 3},
		"time":         {`UPDATE audit_records SET at = '2001-01-01' WHERE chain = $1 AND seq = 3`, 3},
		"hash":         {`UPDATE audit_records SET hash = '' WHERE chain = $1 AND seq = 3`, 3},
		"removed":      {`DELETE FROM audit_records WHERE chain = $1 AND seq = 3`, 3},
		"first":        {`DELETE FROM audit_records WHERE chain = $1 AND seq = 1`, 1},
		"last":         {`DELETE FROM audit_records WHERE chain = $1 AND seq = 6`, 6},
		"all":          {`DELETE FROM audit_records WHERE chain = $1`, 1},
		"end replaced": {`UPDATE audit_chains SET hash = '' WHERE chain = $1`, 6},
	} {
		err := s.Tx(t.Context(), "spoil", func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), tt.sql, d.ID); err != nil {
				return err
			}
			v, err := (&audit.Log{Store: inTx{s, tx}}).Verify(t.Context(), d.ID, 0)
			if err != nil || v.Broken != tt.want || v.Reason == "" {
				t.Errorf("%s: %+v %v", name, v, err)
			}
			return errTwice // takes it back
		})
		if err == nil {
			t.Errorf("%s was kept", name)
		}
	}
	if v, err := log.Verify(t.Context(), d.ID, 4); err != nil || v.Broken != 0 || v.Checked != 2 {
		t.Errorf("from the fourth: %+v %v", v, err)
	}
	if v, err := log.Verify(t.Context(), audit.Installation, 0); err != nil || v.Broken != 0 || v.Head != 0 {
		t.Errorf("an empty log: %+v %v", v, err)
	}
}

// inTx reads the log as a transaction sees it.
type inTx struct {
	*Store
	tx pgx.Tx
}

func (i inTx) AuditHead(ctx context.Context, chain string) (int64, []byte, error) {
	head, err := one[headRow](ctx, i.tx, selectAuditHead, chain)
	return head.Seq, head.Hash, err
}

func (i inTx) AuditChain(ctx context.Context, chain string, after int64, limit int) ([]audit.Record, error) {
	return rows[audit.Record](ctx, i.tx, selectAuditChain, chain, after, limit)
}

func TestTheAuditLogIsGaplessUnderConcurrency(t *testing.T) {
	s := open(t)
	d := developer(t, s, plan.Enterprise)
	const workers, each = 6, 5
	errs := make(chan error, workers)
	for range workers {
		go func() {
			var err error
			for i := 0; i < each && err == nil; i++ {
				err = s.CreateApp(context.WithoutCancel(t.Context()), newApp(d))
			}
			errs <- err
		}()
	}
	for range workers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	v, err := (&audit.Log{Store: s}).Verify(t.Context(), d.ID, 0)
	if err != nil || v.Broken != 0 || v.Checked != 1+workers*each {
		t.Errorf("%+v %v", v, err)
	}
}

func TestRecordedWithTheChangeOrNotAtAll(t *testing.T) {
	s := open(t)
	d := developer(t, s, plan.Free)
	for range 3 { // the third is over the plan
		_ = s.CreateApp(t.Context(), newApp(d))
	}
	found, err := s.AuditRecords(t.Context(), audit.Query{Chain: d.ID, Limit: 100})
	if err != nil || len(found) != 3 {
		t.Errorf("%d records of a registration and two apps: %v", len(found), err)
	}
}

func TestPagesOfTheAuditLog(t *testing.T) {
	s := open(t)
	d := developer(t, s, plan.Free)
	fillChain(t, s, d.ID, 7)
	log := audit.Log{Store: s}
	var got []int64
	q := audit.Query{Chain: d.ID, Operation: "op", Limit: 3}
	for pages := 0; ; pages++ {
		page, err := log.Records(t.Context(), q)
		if err != nil || pages > 3 {
			t.Fatalf("page %d: %v", pages, err)
		}
		for _, r := range page.Records {
			got = append(got, r.Seq)
		}
		if q.Before = page.Next; page.Next == 0 {
			break
		}
	}
	if fmt.Sprint(got) != "[8 7 6 5 4 3 2]" {
		t.Errorf("got %v", got)
	}
	now := micros()
	for name, tt := range map[string]struct {
		q    audit.Query
		want int
	}{
		"actor":       {audit.Query{Actor: "a"}, 7},
		"other actor": {audit.Query{Actor: "b"}, 0},
		"target":      {audit.Query{Target: "4"}, 1},
		"kind":        {audit.Query{Kind: audit.App}, 7},
		"other kind":  {audit.Query{Kind: audit.Invite}, 0},
		"from":        {audit.Query{From: new(now.Add(60e9))}, 0},
		"to":          {audit.Query{To: new(now.Add(60e9))}, 8},
		"before":      {audit.Query{Before: 3}, 2},
	} {
		tt.q.Chain, tt.q.Limit = d.ID, 100
		if page, err := log.Records(t.Context(), tt.q); err != nil || len(page.Records) != tt.want {
			t.Errorf("%s: %d records, want %d: %v", name, len(page.Records), tt.want, err)
		}
	}
}

func TestTheAuditLogHoldsNoSecrets(t *testing.T) {
	s := open(t)
	a := apps(t, s)
	d := developer(t, s, plan.Free)
	made, err := a.Create(t.Context(), app.App{DeveloperID: d.ID, Name: "Bot", Environment: "live", RateLimit: 1})
	if err != nil {
		t.Fatal(err)
	}
	k, err := a.CreateKey(t.Context(), d.ID, made.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := a.RegenerateKey(t.Context(), d.ID, made.ID, k.ID, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := a.CreateToken(t.Context(), d.ID, app.TokenRequest{Name: "n", Metadata: json.RawMessage(`{"password":"canary-secret"}`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Reveal(t.Context(), d.ID, made.ID, k.ID); err != nil {
		t.Fatal(err)
	}
	found, err := s.AuditRecords(t.Context(), audit.Query{Chain: d.ID, Limit: 100})
	if err != nil || len(found) != 6 {
		t.Fatalf("%d records: %v", len(found), err)
	}
	text, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{k.Value, fresh.Value, token.Value, "canary-secret"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%s… is in the log", secret[:9])
		}
	}
}
