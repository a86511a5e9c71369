// Package route finds the upstream that answers a call: model, or family and task, plus the caller's scope.
//
// A call is judged in this order: does the model or the family and task exist (404), does the caller's scope include it (403
// naming the rule), is it configured (503 naming the setting), and may what is configured answer this caller (503: a simulator
// never answers live keys or Darwin tokens).
//
// An agent call asks a model by name. It needs the model's family and the task "conversation" in the caller's scope, whatever
// the prompt is about. The direct endpoints name family and task themselves; of several models that serve a task, the one named
// after its family does, else the first in the order of their ids that is configured.
//
// A skill is found by its name and needs its family and task in the caller's scope. For the rest it is judged like a model.
//
// The package chooses and asks nobody. It keeps no state: the functions read the configuration they are given, which is
// immutable, and are safe for concurrent use. There is no dependency that can fail.
package route
