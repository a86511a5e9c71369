package route

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// AgentTask is the task that an agent call counts as.
const AgentTask = "conversation"

// How a model is served, the words of the contract.
const (
	BackendUpstream  = "upstream"
	BackendSimulator = "simulator"
	BackendNone      = "none"
)

// Target is where a call goes. It is passed along by value, so it has of the upstream what a call needs to know: the stack of a
// stream is as large as the deepest of its calls was.
type Target struct {
	Model    plane.Model
	Upstream Upstream
}

// Upstream is the server of a model, or the one that stands for its pool.
type Upstream struct {
	ID, Dialect, BaseURL string
	Simulator            bool
}

// upstreamOf returns what stands for the id of an upstream or a pool.
func upstreamOf(config *plane.Current, id string) (Upstream, bool) {
	spec, ok := config.Target(id)
	return Upstream{spec.ID, spec.Dialect, spec.BaseURL, spec.Simulator}, ok
}

// ToModel returns the target of an agent call for the named model.
func ToModel(config *plane.Current, caller *call.Caller, name []byte) (Target, error) {
	model, ok := config.Models[string(name)]
	if !ok {
		return Target{}, apierr.New(apierr.NotFound, fmt.Sprintf("There is no model %.64q. The models are %s.", name, names(config)))
	}
	task, ok := PromptTask(config, model)
	if !ok {
		return Target{Model: model}, apierr.New(apierr.BadRequest, fmt.Sprintf(
			"The model %s does not answer prompts; GET /api/v1 tells its tasks. The models that do are %s.", model.ID, names(config)))
	}
	if err := allowed(caller, model.Family, task); err != nil {
		return Target{Model: model}, err
	}
	return serve(config, caller, model)
}

// ToChatModel returns the target of a call that is a conversation with the named model. A model that does not chat is 404, as one that is not
// there: to those who can only chat it is not.
func ToChatModel(config *plane.Current, caller *call.Caller, name []byte) (Target, error) {
	model, ok := config.Models[string(name)]
	if !ok {
		return Target{}, noModel(name, "", config, caller)
	}
	if !chats(config, model) {
		return Target{Model: model}, noModel(name, " It does not chat; GET /api/v1 tells its tasks.", config, caller)
	}
	return toChat(config, caller, model)
}

func toChat(config *plane.Current, caller *call.Caller, model plane.Model) (Target, error) {
	if err := allowed(caller, model.Family, AgentTask); err != nil {
		return Target{Model: model}, err
	}
	return serve(config, caller, model)
}

// noModel is the 404 of a model in the words that clients of OpenAI's API look for, and why.
func noModel(name []byte, why string, config *plane.Current, caller *call.Caller) error {
	return apierr.New(apierr.NotFound, fmt.Sprintf("The model `%s` does not exist or you do not have access to it.%s The models are %s.",
		strings.Trim(fmt.Sprintf("%.64q", name), `"`), why, chatNames(config, caller))).Coded("model_not_found", "model")
}

// ChatModels returns the models that the caller can have a conversation with now, in the order of their ids.
func ChatModels(config *plane.Current, caller *call.Caller) []plane.Model {
	return slices.DeleteFunc(Models(config), func(m plane.Model) bool {
		if !chats(config, m) {
			return true
		}
		_, err := toChat(config, caller, m)
		return err != nil
	})
}

// chatNames lists the models of ChatModels.
func chatNames(config *plane.Current, caller *call.Caller) string {
	var ids []string
	for _, model := range ChatModels(config, caller) {
		ids = append(ids, model.ID)
	}
	return cmp.Or(strings.Join(ids, ", "), "not configured for this key")
}

// ToTask returns the target of a call to a direct endpoint.
func ToTask(config *plane.Current, caller *call.Caller, family, task string) (Target, error) {
	if err := known(config, family, task); err != nil {
		return Target{}, err
	}
	if err := allowed(caller, family, task); err != nil {
		return Target{}, err
	}
	return toServer(config, caller, family, task)
}

// ToTaskOpenly returns the target of a call that needs no credential, and so has no scope.
func ToTaskOpenly(config *plane.Current, family, task string) (Target, error) {
	return toServer(config, nil, family, task)
}

// ToChat returns the chat model that helps with another task of the caller, which decides on the scope.
func ToChat(config *plane.Current, caller *call.Caller) (Target, error) {
	return toServer(config, caller, chatFamily, AgentTask)
}

func toServer(config *plane.Current, caller *call.Caller, family, task string) (Target, error) {
	model, ok := server(config, family, task)
	if !ok {
		return Target{}, apierr.New(apierr.Unavailable,
			fmt.Sprintf("No model of this installation serves the task %s of the family %s. GET /api/v1 lists what is served.", task, family))
	}
	return serve(config, caller, model)
}

// server returns the model that serves a task.
func server(config *plane.Current, family, task string) (best plane.Model, ok bool) {
	for _, model := range config.Models {
		if model.Family != family || !slices.Contains(model.Tasks, task) {
			continue
		}
		if !ok || before(model, best) {
			best, ok = model, true
		}
	}
	return best, ok
}

// before orders the models that serve the same task.
func before(a, b plane.Model) bool {
	rank := func(m plane.Model) int {
		switch {
		case strings.EqualFold(m.ID, m.Family):
			return 0
		case m.Upstream != "":
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.ID, b.ID)) < 0
}

// serve finds the upstream of a model for a caller.
func serve(config *plane.Current, caller *call.Caller, model plane.Model) (Target, error) {
	if why := Unserved(config, caller, model); why != "" {
		return Target{Model: model}, apierr.New(apierr.Unavailable, why)
	}
	up, _ := upstreamOf(config, model.Upstream)
	return Target{Model: model, Upstream: up}, nil
}

// Unserved says why a model cannot answer the caller now and what to configure, or "" if it can.
func Unserved(config *plane.Current, caller *call.Caller, model plane.Model) string {
	up, ok := upstreamOf(config, model.Upstream)
	switch {
	case model.Upstream == "" || !ok:
		return fmt.Sprintf("No upstream is configured for %s. Set %s.", model.ID, settingOf(model))
	case up.Simulator && caller != nil && (caller.Kind == key.Live || caller.Kind == key.Darwin):
		return fmt.Sprintf("%s is served by a simulator, and a live key is never answered by a simulator. Configure %s, or use a test key.",
			model.ID, settingOf(model))
	}
	return ""
}

func settingOf(model plane.Model) string {
	return cmp.Or(model.Setting, "an upstream for it in the control plane's configuration")
}

// Backend says how a model is served.
func Backend(config *plane.Current, model plane.Model) string {
	up, ok := upstreamOf(config, model.Upstream)
	switch {
	case model.Upstream == "" || !ok:
		return BackendNone
	case up.Simulator:
		return BackendSimulator
	}
	return BackendUpstream
}

// Streams reports whether a model answers token by token: chats do.
func Streams(config *plane.Current, model plane.Model) bool {
	if up, ok := upstreamOf(config, model.Upstream); ok {
		return up.Dialect == plane.DialectChat
	}
	return len(model.Tasks) == 0 || slices.Contains(model.Tasks, AgentTask)
}

// Models returns the models in the order of their ids.
func Models(config *plane.Current) []plane.Model {
	return slices.SortedFunc(maps.Values(config.Models), func(a, b plane.Model) int { return cmp.Compare(a.ID, b.ID) })
}

// names lists the models that answer prompts.
func names(config *plane.Current) string {
	var ids []string
	for _, model := range Models(config) {
		if _, ok := PromptTask(config, model); ok {
			ids = append(ids, model.ID)
		}
	}
	if len(ids) == 0 {
		return "not configured yet"
	}
	return strings.Join(ids, ", ")
}
