package gateway

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/encode"
	contract "modelgate.internal/shared/api"
	"modelgate.internal/shared/apierr"
)

// Route is an operation that is built. Method, path and credential are the contract's.
type Route struct {
	ID      string // operation id of the contract
	Handle  func(c *call.Call) (call.Answer, error)
	Counted bool // costs a call of the caller's limits and is recorded as usage
	Darwin  bool // also on the Darwin host
	Image   bool // takes an image, so larger bodies
	// Upload is the largest body in bytes of a POST operation that reads it bit by bit, from Call.Upload; 0 for the others,
	// which get it whole. The path must have no parameters.
	Upload int64
	Dry    bool // has a dry run: its handler asks no model when the call has a trace
	// Once is of operations that take an Idempotency-Key: it says whether the call wants a stream and which backend would answer, and
	// fails if Handle would refuse the call for what it asks or who asks. It notes nothing on the call and asks no upstream.
	Once func(c *call.Call) (stream bool, backend string, err error)
	Open bool // needs no credential and costs us something: limited by address, smaller bodies
}

// operation is a method of a path as it is served.
type operation struct {
	contract.Operation
	handle    func(c *call.Call) (call.Answer, error) // nil when it is not built
	counted   bool
	needsKey  bool
	image     bool
	upload    int64
	dry       bool
	once      func(c *call.Call) (stream bool, backend string, err error) // nil without idempotency
	open      bool
	preflight bool // the answer to OPTIONS
	param     int  // the path's segment that is a parameter, 0 without one
	allow     string
}

// resource is a path.
type resource struct {
	methods map[string]*operation
	options *operation
}

// table finds operations.
type table struct {
	exact    map[string]*resource
	patterns []pattern // paths with parameters; few
}

type pattern struct {
	segments []string // a parameter is ""
	resource *resource
}

// newTable joins the contract and the routes. A route needs an operation that is not planned, and the other way round.
func newTable(operations []contract.Operation, routes []Route, host Host) (*table, error) {
	t := &table{exact: map[string]*resource{}}
	built := make(map[string]*Route, len(routes))
	for i := range routes {
		built[routes[i].ID] = &routes[i]
	}
	for _, o := range operations {
		if o.Plane != contract.PlaneData {
			continue
		}
		r := built[o.ID]
		delete(built, o.ID)
		switch {
		case r == nil && !o.Planned:
			return nil, fmt.Errorf("make routes: %s is in the contract and has no route", o.ID)
		case r != nil && o.Planned:
			return nil, fmt.Errorf("make routes: %s has a route and is marked as planned", o.ID)
		case host == DarwinHost && (r == nil || !r.Darwin):
			continue
		}
		op := &operation{Operation: o, param: paramAt(o.Path)}
		if r != nil {
			op.handle, op.counted, op.needsKey = r.Handle, r.Counted, len(o.Security) > 0
			op.image, op.upload, op.dry, op.once, op.open = r.Image, r.Upload, r.Dry, r.Once, r.Open
		}
		t.add(op)
	}
	for id := range built {
		return nil, fmt.Errorf("make routes: %s has a route and is not in the contract", id)
	}
	return t, nil
}

func (t *table) add(op *operation) {
	r := t.resource(op.Path)
	r.methods[op.Method] = op
	if op.Method == "GET" {
		r.methods["HEAD"] = op
	}
	var allow []string
	for method := range r.methods {
		allow = append(allow, method)
	}
	slices.Sort(allow)
	r.options.allow = strings.Join(append(allow, "OPTIONS"), ", ")
}

func (t *table) resource(path string) *resource {
	if r, ok := t.exact[path]; ok {
		return r
	}
	r := &resource{methods: map[string]*operation{}, options: &operation{preflight: true}}
	t.exact[path] = r
	if !strings.Contains(path, "{") {
		return r
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, "{") {
			segments[i] = ""
		}
	}
	t.patterns = append(t.patterns, pattern{segments, r})
	return r
}

var errNoPath = apierr.New(apierr.NotFound, "There is no such path. GET /api/v1 lists the models; the documentation is at /dev/docs-page of the portal.").
	Coded("unknown_url", "")

// find returns the operation of a method and path, a 404 or a 405.
func (t *table) find(method, path []byte) (*operation, error) {
	r, ok := t.exact[string(path)]
	if !ok {
		if r = t.match(string(path)); r == nil {
			return nil, errNoPath
		}
	}
	if op, ok := r.methods[string(method)]; ok {
		return op, nil
	}
	if string(method) == "OPTIONS" {
		return r.options, nil
	}
	return nil, &notAllowed{apierr.New(apierr.NotAllowed, fmt.Sprintf("This path takes %s.", r.options.allow)), r.options.allow}
}

func (t *table) match(path string) *resource {
	segments := strings.Split(path, "/")
	for _, p := range t.patterns {
		if slices.EqualFunc(p.segments, segments, func(want, got string) bool { return want == got || (want == "" && got != "") }) {
			return p.resource
		}
	}
	return nil
}

// paramAt returns the place of the last parameter among the segments of a path, 0 without one.
func paramAt(path string) (at int) {
	for i, segment := range strings.Split(path, "/") {
		if strings.HasPrefix(segment, "{") {
			at = i
		}
	}
	return at
}

// paramOf returns what a path has in the place of the parameter.
func (o *operation) paramOf(path []byte) string {
	if o.param == 0 {
		return ""
	}
	return strings.Split(string(path), "/")[o.param]
}

// form is how a path's errors are written: on those of OpenAI's API as its clients know them.
func form(path []byte) encode.Form {
	if string(path) == "/v1" || bytes.HasPrefix(path, []byte("/v1/")) || string(path) == "/api/v1/chat/completions" {
		return encode.OpenAI
	}
	return encode.Ours
}

// notAllowed is a 405 with its Allow header.
type notAllowed struct {
	why   *apierr.Error
	allow string
}

func (e *notAllowed) Error() string { return e.why.Error() }
func (e *notAllowed) Unwrap() error { return e.why }

// BodyMax bounds the body of requests for a path, in bytes.
func (g *Gateway) BodyMax(path []byte) int {
	t := g.tables[MainHost]
	r, ok := t.exact[string(path)]
	if !ok {
		if r = t.match(string(path)); r == nil {
			return bodyBytesMax
		}
	}
	op := r.methods["POST"]
	switch {
	case op == nil:
	case op.image:
		return bodyBytesMaxImage
	case op.open:
		return bodyBytesMaxOpen
	}
	return bodyBytesMax
}

// UploadMax bounds the body of uploads to a path, in bytes; 0 where none are taken.
func (g *Gateway) UploadMax(path []byte) int64 {
	if r, ok := g.tables[MainHost].exact[string(path)]; ok {
		if op, ok := r.methods["POST"]; ok {
			return op.upload
		}
	}
	return 0
}
