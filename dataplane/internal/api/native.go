package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/result"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// question is what a call asks a server of results. Such a server speaks the dialect native, or kserve where the result can be made
// of one tensor.
type question struct {
	path         string         // of the dialect native
	family, task string         // what the key needs in its scope
	body         map[string]any // as it was judged, so as it is sent
	shape        result.Shape   // of the answer
	tensor       tensor
}

// tensor is what an inference server would have to answer. The zero value is for questions that it cannot.
type tensor struct {
	as    string // one of the plane.Infer words
	image string // base64
	scene result.Scene
}

// read judges a body by the struct that dst points to, and returns it decoded.
func read(c *call.Call, dst any) (map[string]any, error) {
	tree, err := bind.Tree(c.Body)
	if err != nil {
		return nil, err
	}
	if err := bind.Value(tree, []any{"body"}, dst); err != nil {
		return nil, err
	}
	body, _ := tree.(map[string]any)
	return body, checkBase64(body, []any{"body"})
}

// checkBase64 refuses data URLs where base64 is wanted, wherever they are, as checkImage does.
func checkBase64(v any, at []any) error {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			here := append(at[:len(at):len(at)], name)
			text, _ := value.(string)
			if (strings.HasSuffix(name, "_b64") || strings.HasSuffix(name, "_base64")) && strings.HasPrefix(text, "data:") {
				return apierr.Violations(dataURL(here, text[:min(len(text), 40)]))
			}
			if err := checkBase64(value, here); err != nil {
				return err
			}
		}
	case []any:
		for i, value := range v {
			if err := checkBase64(value, append(at[:len(at):len(at)], i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer puts a question to the server of its task.
func (a *API) answer(c *call.Call, q *question) (call.Answer, error) {
	target, err := route.ToTask(c.Config, c.Caller, q.family, q.task)
	note(c, target, taskLabel(target, q.task))
	if err != nil {
		return call.Answer{}, err
	}
	return a.put(c, target, q)
}

// put puts a question to a target.
func (a *API) put(c *call.Call, target route.Target, q *question) (call.Answer, error) {
	account := c.Caller.Account()
	if err := nameGalleries(account, q.body); err != nil {
		return call.Answer{}, err
	}
	body, err := result.Encode(q.body)
	if err != nil {
		return call.Answer{}, err
	}
	var answer call.Answer
	err = a.serve(c, target, func(ctx context.Context, s *upstream.Service) error {
		got, err := a.askOne(ctx, s, q, account, body)
		if err != nil {
			return err
		}
		said, wrong := q.shape.Check(q.body, got)
		if wrong != "" {
			return s.Invalid(wrong)
		}
		answer.Use = usageOf(said)
		answer.Body, err = labelled(s, account, got, said)
		return err
	})
	if err != nil {
		return call.Answer{}, err
	}
	return answer, nil
}

// askOne asks one server in its dialect.
func (a *API) askOne(ctx context.Context, s *upstream.Service, q *question, account string, body []byte) ([]byte, error) {
	switch s.Spec.Dialect {
	case plane.DialectNative:
		return s.Native(ctx, q.path, account, body)
	case plane.DialectInfer:
		return a.infer(ctx, s, q)
	}
	return nil, cannot(s, q.task)
}

// infer makes an answer of a tensor.
func (a *API) infer(ctx context.Context, s *upstream.Service, q *question) ([]byte, error) {
	task, ok := s.InferTask(q.task)
	if !ok {
		return nil, cannot(s, q.task)
	}
	if task.As != q.tensor.as {
		return nil, apierr.New(apierr.BadRequest, fmt.Sprintf("The task %s is answered at POST %s only.", q.task, inferPath(task.As)))
	}
	if q.tensor.image == "" {
		return nil, apierr.Violations(apierr.Item{Type: "missing", Loc: []any{"body", "input_data", "image_base64"}, Msg: "Field required"})
	}
	began := a.o.Now()
	t, err := s.Infer(ctx, task, q.tensor.image)
	if err != nil {
		return nil, err
	}
	var said map[string]any
	var wrong string
	switch task.As {
	case plane.InferEmbedding:
		said, wrong = result.Embedding(task, t.Data)
	case plane.InferScores:
		said, wrong = result.Scores(task, q.family, q.task, t.Data)
	case plane.InferDepth:
		said, wrong = q.tensor.scene.DepthMap(task, t.Shape, t.Data, a.o.Now().Sub(began).Round(time.Microsecond))
	}
	if wrong != "" {
		return nil, s.Invalid(wrong)
	}
	return result.Encode(said)
}

// inferAs returns what the tensor of a task is, as the upstream is configured; "" if it does not say.
func inferAs(config *plane.Current, target route.Target, task string) string {
	spec, _ := config.Target(target.Model.Upstream)
	tasks, err := plane.ParseInfer(spec.Infer)
	if err != nil { // of a newer control plane
		return ""
	}
	return tasks[task].As
}

// inferPath is the path that a tensor of a kind is an answer of.
func inferPath(as string) string {
	switch as {
	case plane.InferEmbedding:
		return "/api/v1/extract"
	case plane.InferDepth:
		return "/api/v1/depth-estimate"
	}
	return "/api/v1/predict"
}

// cannot is for an upstream that is configured for a task and has no way to answer what is asked of it.
func cannot(s *upstream.Service, task string) error {
	return pool.Unusable(apierr.New(apierr.Unavailable, fmt.Sprintf(
		"Upstream %s (dialect %s) is configured for the task %s and cannot answer this operation. This is for the gateway's operator to fix.",
		s.Spec.ID, s.Spec.Dialect, task)))
}

// labelled is a result as the caller gets it: with the names that the caller knows, and with who made it. Answers of the contract's
// types have words of their own for that.
func labelled(s *upstream.Service, account string, body []byte, said map[string]any) ([]byte, error) {
	body, err := galleriesAsAsked(account, body, said)
	if err != nil {
		return nil, err
	}
	backend := route.BackendUpstream + ":" + s.Spec.ID
	if said["type"] != nil {
		backend = route.BackendUpstream
	}
	if s.Spec.Simulator {
		backend = route.BackendSimulator
	}
	return result.Label(body, said, backend, s.Spec.Simulator)
}

// usageOf is what a text answer says of its tokens. Other results have none.
func usageOf(said map[string]any) call.Usage {
	usage, ok := said["usage"].(map[string]any)
	if !ok || said["type"] != "text" {
		return call.Usage{Source: plane.SourceNone}
	}
	tokens := func(name string) int64 {
		n, _ := usage[name].(json.Number)
		count, _ := n.Int64()
		return max(count, 0)
	}
	return call.Usage{TokensIn: tokens("tokens_in"), TokensOut: tokens("tokens_out"), Source: plane.SourceProvider}
}

// generateNative answers generate and stream for a task whose server speaks the dialect native.
func (a *API) generateNative(c *call.Call, target route.Target, req *wire.GenerateRequest, stream bool) (call.Answer, error) {
	body, err := read(c, &struct{}{})
	if err != nil {
		return call.Answer{}, err
	}
	if err := reserveNative(c, req, body, stream); err != nil {
		return call.Answer{}, err
	}
	if !stream {
		return a.put(c, target, &question{path: "/generate", body: body, shape: result.Answer()})
	}
	account := c.Caller.Account()
	if err := nameGalleries(account, body); err != nil {
		return call.Answer{}, err
	}
	sent, err := result.Encode(body)
	if err != nil {
		return call.Answer{}, err
	}
	return a.serveStream(c, target, func(ctx context.Context, s *upstream.Service) (call.Stream, error) {
		if s.Spec.Dialect != plane.DialectNative {
			return nil, cannot(s, target.Model.ID)
		}
		q := &upstream.NativeCall{Path: "/stream", Account: account, Body: sent, Prompt: promptTokens(req), Each: events(s, account)}
		if c.Tokens != nil {
			q.Budget = c.Tokens
		}
		return s.NativeStream(ctx, q)
	})
}

// events judges the events of a server. Those that are whole answers are labelled.
func events(s *upstream.Service, account string) upstream.Each {
	shape := result.Event()
	return func(event []byte) (sent []byte, wrong string) {
		said, wrong := shape.Check(nil, event)
		if wrong != "" {
			return nil, wrong
		}
		var err error
		switch said["type"] {
		case "delta", "status", "progress", "diagnostic", "done":
			sent, err = result.Compact(event)
		default:
			sent, err = labelled(s, account, event, said)
		}
		if err != nil {
			return nil, "cannot be passed on"
		}
		return sent, ""
	}
}
