package route

import (
	"fmt"
	"slices"
	"strings"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// tasksOf returns the tasks that the contract names for a family, whether or not an installation has a model for them. Models
// may serve more. The second result is false for a family that does not exist.
func tasksOf(family string) ([]string, bool) {
	switch family {
	case "darwin":
		return []string{
			"conversation", "reasoning", "planning", "code", "vision", "speech_to_text", "text_to_speech", "voice_footprint",
			"voice_analysis", "translation", "deep_search", "image_generation",
		}, true
	case "biometrix":
		return []string{
			"face", "iris", "liveness", "gait", "footprint", "person_reid", "object_signature", "tracking", "depth", "spatial", "multicam",
		}, true
	case "emoticore":
		return []string{"text", "face", "voice", "multimodal"}, true
	}
	return nil, false
}

// families are all that tasksOf knows.
func families() []string { return []string{"biometrix", "darwin", "emoticore"} }

// known checks that a family exists and has the task.
func known(config *plane.Current, family, task string) error {
	tasks, ok := tasksOf(family)
	if !ok {
		return apierr.New(apierr.NotFound,
			fmt.Sprintf("There is no family %.64q. The families are %s.", family, strings.Join(families(), ", ")))
	}
	for _, model := range config.Models {
		if model.Family == family {
			tasks = append(tasks, model.Tasks...)
		}
	}
	if !slices.Contains(tasks, task) {
		slices.Sort(tasks)
		return apierr.New(apierr.NotFound, fmt.Sprintf("There is no task %.64q in the family %s. Its tasks are %s.",
			task, family, strings.Join(slices.Compact(tasks), ", ")))
	}
	return nil
}

// allowed checks the caller's scope.
func allowed(caller *call.Caller, family, task string) error {
	scope := &caller.Scope
	switch {
	case len(scope.Families) > 0 && !slices.Contains(scope.Families, family):
		return missing(caller, "family", family, scope.Families)
	case len(scope.Tasks) > 0 && !slices.Contains(scope.Tasks, task):
		return missing(caller, "task", task, scope.Tasks)
	}
	return nil
}

func missing(caller *call.Caller, what, name string, has []string) error {
	owner := "The key's app"
	if caller.AppID == "" {
		owner = "The token"
	}
	return apierr.New(apierr.Forbidden, fmt.Sprintf("%s does not include the %s %s, only %s.", owner, what, name, strings.Join(has, ", ")))
}

// Allows reports whether any task of the model is in a caller's scope.
func Allows(caller *call.Caller, model plane.Model) bool {
	tasks := model.Tasks
	if len(tasks) == 0 { // a model that is only asked by name
		tasks = []string{AgentTask}
	}
	return slices.ContainsFunc(tasks, func(task string) bool { return allowed(caller, model.Family, task) == nil })
}
