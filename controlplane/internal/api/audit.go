package api

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/wire"
)

// traced makes a handler whose changes are recorded as the operation's.
func traced(operation string, h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		o := audit.Origin{Address: remote(r), Operation: operation}
		return h(w, r.WithContext(audit.With(r.Context(), o)))
	}
}

// by returns a request whose changes are recorded as those of a developer.
func by(r *http.Request, who account.Identity) *http.Request {
	o := audit.From(r.Context())
	o.Actor, o.SessionID = who.DeveloperID, who.SessionID
	return r.WithContext(audit.With(r.Context(), o))
}

// auditScope says whose log is meant.
type auditScope struct {
	Scope string `json:"scope" bind:"enum=account|organization,default=account"`
}

// auditQuery are the parameters of the audit log.
type auditQuery struct {
	auditScope
	Actor     string     `json:"actor" bind:"max=64"`
	Operation string     `json:"operation" bind:"max=64"`
	Kind      string     `json:"kind" bind:"max=64"`
	Target    string     `json:"target" bind:"max=64"`
	From      *time.Time `json:"from"`
	To        *time.Time `json:"to"`
	Cursor    int64      `json:"cursor" bind:"min=1"`
	Limit     int        `json:"limit" bind:"min=1,max=1000,default=100"`
}

func (a *API) listAudit(w http.ResponseWriter, r *http.Request, developerID string) error {
	var q auditQuery
	if err := bind.Query(r.URL.Query(), &q); err != nil {
		return err
	}
	chain, err := a.auditChain(r, developerID, q.Scope)
	if err != nil {
		return err
	}
	page, err := a.Audit.Records(r.Context(), audit.Query{
		Chain: chain, Actor: q.Actor, Operation: q.Operation, Kind: q.Kind, Target: q.Target,
		From: q.From, To: q.To, Before: q.Cursor, Limit: q.Limit,
	})
	if err != nil {
		return err
	}
	answer := wire.AuditPage{Records: make([]wire.AuditRecord, len(page.Records))}
	for i, one := range page.Records {
		answer.Records[i] = wireAudit(one)
	}
	if page.Next > 0 {
		answer.NextCursor = &page.Next
		w.Header().Set("X-Next-Cursor", strconv.FormatInt(page.Next, 10))
	}
	w.Header().Set("Vary", "Accept")
	switch media := prefer(r.Header.Get("Accept"), "application/json", "application/x-ndjson", "text/csv"); media {
	case "text/csv":
		return writeExport(w, media+"; charset=utf-8", "audit.csv", answer.Records, auditCSV)
	case "application/x-ndjson":
		return writeExport(w, media, "audit.ndjson", answer.Records, auditLines)
	}
	return writeJSON(w, answer)
}

// auditChain is the log of the developer, or that of the developer's organization for those who may read it.
func (a *API) auditChain(r *http.Request, developerID, scope string) (string, error) {
	if scope == "account" {
		return developerID, nil
	}
	m, err := a.Orgs.Membership(r.Context(), developerID)
	if err != nil {
		return "", err
	}
	return m.ID, org.Allow(m.Role, org.ReadAudit)
}

// verifyQuery are the parameters of the check of an audit log.
type verifyQuery struct {
	auditScope
	After int64 `json:"after" bind:"min=0"`
}

func (a *API) verifyAudit(w http.ResponseWriter, r *http.Request, developerID string) error {
	var q verifyQuery
	if err := bind.Query(r.URL.Query(), &q); err != nil {
		return err
	}
	chain, err := a.auditChain(r, developerID, q.Scope)
	if err != nil {
		return err
	}
	v, err := a.Audit.Verify(r.Context(), chain, q.After)
	if err != nil {
		return err
	}
	answer := wire.AuditVerdict{Intact: v.Broken == 0, Checked: v.Checked, Head: v.Head}
	if v.Head > 0 {
		hash := hex.EncodeToString(v.Hash)
		answer.Hash = &hash
	}
	if v.Broken > 0 {
		answer.BrokenAt, answer.Reason = &v.Broken, &v.Reason
	}
	if v.Next > 0 {
		answer.NextAfter = &v.Next
	}
	return writeJSON(w, answer)
}

func wireAudit(r audit.Record) wire.AuditRecord {
	return wire.AuditRecord{
		Seq: r.Seq, At: r.At.UTC(), Actor: some(r.Actor), SessionID: some(r.SessionID), Address: some(r.Address), Operation: r.Operation,
		Kind: r.Kind, Target: r.Target, Before: raw(r.Before), After: raw(r.After), Hash: hex.EncodeToString(r.Hash),
	}
}

// some is a text, or null for an empty one.
func some(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// raw is a text that is JSON already.
func raw(text *string) *json.RawMessage {
	if text == nil {
		return nil
	}
	message := json.RawMessage(*text)
	return &message
}

// writeExport answers 200 with a file.
func writeExport[T any](w http.ResponseWriter, media, name string, items []T, write func(out *bytes.Buffer, items []T) error) error {
	var out bytes.Buffer
	if err := write(&out, items); err != nil {
		return fmt.Errorf("encode the export: %w", err)
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Write(out.Bytes()) //nolint:errcheck // the client has gone
	return nil
}

// auditLines writes one JSON object a line.
func auditLines(out *bytes.Buffer, records []wire.AuditRecord) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	var errs []error
	for _, r := range records {
		errs = append(errs, e.Encode(r))
	}
	return errors.Join(errs...)
}

// auditCSV writes a table (RFC 4180). No cell can be taken for a formula: those that developers write are JSON objects.
func auditCSV(out *bytes.Buffer, records []wire.AuditRecord) error {
	w := csv.NewWriter(out)
	errs := []error{w.Write([]string{"seq", "at", "actor", "session_id", "address", "operation", "kind", "target", "before", "after", "hash"})}
	for _, r := range records {
		errs = append(errs, w.Write([]string{
			strconv.FormatInt(r.Seq, 10), r.At.Format(time.RFC3339Nano), cell(r.Actor), cell(r.SessionID), cell(r.Address), r.Operation,
			r.Kind, r.Target, rawCell(r.Before), rawCell(r.After), r.Hash,
		}))
	}
	w.Flush()
	return errors.Join(append(errs, w.Error())...)
}

func cell(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func rawCell(message *json.RawMessage) string {
	if message == nil {
		return ""
	}
	return string(*message)
}
