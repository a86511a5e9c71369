package api

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"modelgate.internal/controlplane/internal/ledger"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/wire"
)

// requestsQuery are the parameters of the log of an app's calls.
type requestsQuery struct {
	KeyID  string     `json:"key_id" bind:"max=64"`
	Status string     `json:"status" bind:"enum=2xx|4xx|5xx"`
	Model  string     `json:"model" bind:"max=255"`
	From   *time.Time `json:"from"`
	To     *time.Time `json:"to"`
	Cursor string     `json:"cursor" bind:"max=64"`
	Limit  int        `json:"limit" bind:"min=1,max=100,default=50"`
}

func (a *API) listRequests(w http.ResponseWriter, r *http.Request, developerID string) error {
	var p requestsQuery
	if err := bind.Query(r.URL.Query(), &p); err != nil {
		return err
	}
	one, err := a.Apps.Get(r.Context(), developerID, r.PathValue("app_id"))
	if err != nil {
		return err
	}
	q := ledger.CallQuery{
		AppID: one.ID, KeyID: p.KeyID, Model: p.Model, From: *cmp.Or(p.From, &time.Time{}), To: *cmp.Or(p.To, &time.Time{}),
		Cursor: p.Cursor, Limit: p.Limit,
	}
	if p.Status != "" {
		q.StatusFrom = int(p.Status[0]-'0') * 100
		q.StatusTo = q.StatusFrom + 100
	}
	page, err := a.Usage.AppCalls(r.Context(), q, a.Now())
	if err != nil {
		return err
	}
	if page.NextCursor != nil {
		w.Header().Set("X-Next-Cursor", *page.NextCursor)
	}
	if wantsCSV(w, r) {
		return writeExport(w, mediaCSV+"; charset=utf-8", "requests.csv", page.Requests, requestsCSV)
	}
	return writeJSON(w, page)
}

// requestsCSV writes a table (RFC 4180).
func requestsCSV(out *bytes.Buffer, requests []wire.RequestEntry) error {
	w := csv.NewWriter(out)
	errs := []error{w.Write([]string{
		"id", "at", "key_id", "hint", "endpoint", "task", "model", "status", "end", "ttft_ms", "took_ms", "tokens_in", "tokens_out", "source",
	})}
	for _, r := range requests {
		ttft := ""
		if r.TTFTMS != nil {
			ttft = strconv.FormatInt(*r.TTFTMS, 10)
		}
		errs = append(errs, w.Write([]string{
			noFormula(r.ID), r.At.Format(time.RFC3339Nano), r.KeyID, cell(r.Hint), noFormula(r.Endpoint), noFormula(r.Task), noFormula(r.Model),
			strconv.Itoa(r.Status), r.End, ttft, strconv.FormatInt(r.TookMS, 10), strconv.FormatInt(r.TokensIn, 10),
			strconv.FormatInt(r.TokensOut, 10), r.Source,
		}))
	}
	w.Flush()
	return errors.Join(append(errs, w.Error())...)
}

// noFormula marks a text of a client that a spreadsheet would take for a formula.
func noFormula(text string) string {
	if strings.IndexAny(text, "=+-@\t\r") == 0 {
		return "'" + text
	}
	return text
}
