package publish

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"modelgate.internal/shared/plane"
)

// Catalog is what the operator configured for the nodes to serve.
type Catalog struct {
	Models    []plane.Model
	Upstreams []plane.UpstreamSpec
	Pools     []plane.PoolSpec
	Skills    []plane.SkillSpec
}

// Catalog makes the published models, upstreams, pools and skills those given. Only differences are announced; it returns the version
// that has them, the newest one if nothing differs. It is for the start of a process: of replicas that are configured
// differently the one that started last wins.
//
// A catalog that contradicts itself is an error: see [Catalog.Check].
func (p *Publisher) Catalog(ctx context.Context, c Catalog) (plane.Version, error) {
	want, err := c.records()
	if err != nil {
		return 0, fmt.Errorf("publish the catalog: %w", err)
	}
	version, err := p.log.Announce(ctx, []string{plane.KindModel, plane.KindPool, plane.KindSkill, plane.KindUpstream}, func(have []plane.Change) ([]plane.Change, error) {
		return differences(have, want)
	})
	if err != nil {
		return 0, fmt.Errorf("publish the catalog: %w", err)
	}
	if version > 0 {
		return version, nil
	}
	cursor, err := p.log.Cursor(ctx)
	if err != nil {
		return 0, fmt.Errorf("publish the catalog: %w", err)
	}
	return cursor.Version, nil
}

// Check returns what contradicts itself, all at once: an empty or doubled ID, a model that names neither an upstream nor a
// pool, and what [plane.Current.CheckPools] finds.
func (c *Catalog) Check() error {
	_, err := c.records()
	return err
}

// records returns the records: upstreams, then pools, then models, then skills, so that nothing is published before what it names.
func (c *Catalog) records() ([]plane.Change, error) {
	if max(len(c.Models), len(c.Upstreams), len(c.Pools), len(c.Skills)) > CatalogItemsMax {
		return nil, fmt.Errorf("more than %d models, upstreams, pools or skills", CatalogItemsMax)
	}
	list := catalogList{known: plane.Current{
		Models: map[string]plane.Model{}, Upstreams: map[string]plane.UpstreamSpec{}, Pools: map[string]plane.PoolSpec{},
		Skills: map[string]plane.SkillSpec{},
	}}
	for _, u := range c.Upstreams {
		collect(&list, plane.KindUpstream, list.known.Upstreams, u.ID, u)
	}
	for _, p := range c.Pools {
		collect(&list, plane.KindPool, list.known.Pools, p.ID, p)
	}
	for _, m := range c.Models {
		collect(&list, plane.KindModel, list.known.Models, m.ID, m)
	}
	for _, s := range c.Skills {
		collect(&list, plane.KindSkill, list.known.Skills, s.Name, s)
	}
	return list.records, errors.Join(append(list.faults, list.known.CheckPools())...)
}

// catalogList is a catalog on its way to records.
type catalogList struct {
	known   plane.Current
	records []plane.Change
	faults  []error
}

func collect[T any](list *catalogList, kind string, known map[string]T, id string, value T) {
	if _, twice := known[id]; id == "" || twice {
		list.faults = append(list.faults, fmt.Errorf("%s ID %q is empty or there twice", kind, id))
		return
	}
	known[id] = value
	c, err := record(kind, id, value)
	if err != nil {
		list.faults = append(list.faults, err)
		return
	}
	list.records = append(list.records, c)
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
// models before pools before skills before upstreams.
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
