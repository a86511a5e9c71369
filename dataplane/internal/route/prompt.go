package route

import (
	"slices"

	"modelgate.internal/shared/plane"
)

// ImageTask is the task that a prompt for an image model counts as.
const ImageTask = "image_generation"

// chatFamily is the family whose models chat.
const chatFamily = "darwin"

// PromptTask returns the task that a prompt for the model counts as, and false for a model that takes no prompts. What its
// upstream speaks decides, and while it has none its tasks do.
func PromptTask(config *plane.Current, model plane.Model) (task string, ok bool) {
	if up, served := upstreamOf(config, model.Upstream); served {
		switch up.Dialect {
		case plane.DialectImages:
			return ImageTask, true
		case plane.DialectNative, plane.DialectTranscriptions, plane.DialectSpeech, plane.DialectTranslate, plane.DialectSearch, plane.DialectInfer:
			return "", false
		}
		return AgentTask, true
	}
	if slices.Equal(model.Tasks, []string{ImageTask}) {
		return ImageTask, true
	}
	return AgentTask, model.Family == chatFamily && (len(model.Tasks) == 0 || slices.ContainsFunc(model.Tasks, prompted))
}

// chats reports whether a model can be had a conversation with.
func chats(config *plane.Current, model plane.Model) bool {
	task, ok := PromptTask(config, model)
	return ok && task == AgentTask
}

// prompted reports whether a task of the chat family is one that a prompt is enough for.
func prompted(task string) bool {
	switch task {
	case "speech_to_text", "text_to_speech", "voice_footprint", "voice_analysis", "translation", "deep_search":
		return false
	}
	return true
}
