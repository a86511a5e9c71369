package publish

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"modelgate.internal/shared/plane"
)

// Catalog makes the published models and upstreams those given. Only differences are announced; it returns the version that
// has them, the newest one if nothing differs. It is for the start of a process: of replicas that are configured
// differently the one that started last wins.
//
// A catalog that contradicts itself is an error: an empty or doubled ID, a model whose upstream is not there.
func (p *Publisher) Catalog(ctx context.Context, models []plane.Model, upstreams []plane.UpstreamSpec) (plane.Version, error) {
	want, err := catalogRecords(models, upstreams)
	if err != nil {
		return 0, fmt.Errorf("publish models and upstreams: %w", err)
	}
	version, err := p.log.Announce(ctx, []string{plane.KindModel, plane.KindUpstream}, func(have []plane.Change) ([]plane.Change, error) {
		return differences(have, want)
	})
	if err != nil {
		return 0, fmt.Errorf("publish models and upstreams: %w", err)
	}
	if version > 0 {
		return version, nil
	}
	cursor, err := p.log.Cursor(ctx)
	if err != nil {
		return 0, fmt.Errorf("publish models and upstreams: %w", err)
	}
	return cursor.Version, nil
}

// catalogRecords returns the records, upstreams first, so that no model is published before its upstream.
func catalogRecords(models []plane.Model, upstreams []plane.UpstreamSpec) ([]plane.Change, error) {
	if len(models) > CatalogItemsMax || len(upstreams) > CatalogItemsMax {
		return nil, fmt.Errorf("more than %d models or upstreams", CatalogItemsMax)
	}
	records := make([]plane.Change, 0, len(upstreams)+len(models))
	known := make(map[string]bool, len(upstreams))
	for _, u := range upstreams {
		if u.ID == "" || known[u.ID] {
			return nil, fmt.Errorf("upstream ID %q is empty or there twice", u.ID)
		}
		known[u.ID] = true
		c, err := record(plane.KindUpstream, u.ID, u)
		if err != nil {
			return nil, err
		}
		records = append(records, c)
	}
	named := make(map[string]bool, len(models))
	for _, m := range models {
		switch {
		case m.ID == "" || named[m.ID]:
			return nil, fmt.Errorf("model ID %q is empty or there twice", m.ID)
		case m.Upstream != "" && !known[m.Upstream]:
			return nil, fmt.Errorf("model %q has the upstream %q, which is not configured", m.ID, m.Upstream)
		}
		named[m.ID] = true
		c, err := record(plane.KindModel, m.ID, m)
		if err != nil {
			return nil, err
		}
		records = append(records, c)
	}
	return records, nil
}

// record keeps out what the nodes would not take: one such record would stop the stream for all that follow it.
func record(kind, id string, value any) (plane.Change, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return plane.Change{}, fmt.Errorf("encode %s %q: %w", kind, id, err)
	}
	if len(body) > RecordBytesMax {
		return plane.Change{}, fmt.Errorf("%s %q has %d bytes, more than %d", kind, id, len(body), RecordBytesMax)
	}
	return plane.Change{Kind: kind, ID: id, Body: body}, nil
}

// differences returns what leads from have to want: what is new or different in the order of want, then what is gone,
// models before upstreams.
func differences(have, want []plane.Change) ([]plane.Change, error) {
	left := make(map[RecordID]json.RawMessage, len(have))
	for _, c := range have {
		left[RecordID{c.Kind, c.ID}] = c.Body
	}
	var changes []plane.Change
	for _, c := range want {
		id := RecordID{c.Kind, c.ID}
		body, held := left[id]
		delete(left, id)
		same, err := sameJSON(body, c.Body)
		if err != nil {
			return nil, fmt.Errorf("compare %s %q: %w", c.Kind, c.ID, err)
		}
		if !held || !same {
			changes = append(changes, c)
		}
	}
	gone := slices.SortedFunc(maps.Keys(left), func(a, b RecordID) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	for _, id := range gone {
		changes = append(changes, plane.Change{Kind: id.Kind, ID: id.ID, Gone: true})
	}
	return changes, nil
}

// sameJSON compares two texts by value, because the database does not keep the text. No text equals nothing.
func sameJSON(a, b json.RawMessage) (bool, error) {
	if a == nil || b == nil {
		return false, nil
	}
	one, err := canonical(a)
	if err != nil {
		return false, err
	}
	other, err := canonical(b)
	return bytes.Equal(one, other), err
}

// canonical writes JSON with sorted names and without spaces. Numbers keep their text: those of the catalog are integers.
func canonical(text json.RawMessage) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}
