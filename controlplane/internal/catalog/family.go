package catalog

import "modelgate.internal/shared/wire"

// The families.
const (
	biometrix = "biometrix"
	darwin    = "darwin"
	emoticore = "emoticore"
)

// defaultModel is the model of calls that name none.
const defaultModel = "Darwin"

// families returns the families with the tasks that the contract names for them, whether or not a model serves them here.
func families() []wire.CatalogFamily {
	return []wire.CatalogFamily{
		{ID: biometrix, Name: "Biometrix", Description: "Detection and verification of people and things.", Tasks: []wire.CatalogTask{
			{ID: "face", Name: "Face", Description: "Detection and comparison of faces."},
			{ID: "iris", Name: "Iris", Description: "Comparison of irises."},
			{ID: "liveness", Name: "Liveness", Description: "Whether a sample is of a person who is present."},
			{ID: "gait", Name: "Gait", Description: "Comparison of the way people walk."},
			{ID: "footprint", Name: "Footprint", Description: "Comparison of footprints."},
			{ID: "person_reid", Name: "Person re-identification", Description: "The same person in several images."},
			{ID: "object_signature", Name: "Object signature", Description: "The same object in several images."},
			{ID: "tracking", Name: "Tracking", Description: "The way people take through a scene."},
			{ID: "depth", Name: "Depth", Description: "How far things are from the camera."},
			{ID: "spatial", Name: "Spatial search", Description: "Who is within a radius of the camera."},
			{ID: "multicam", Name: "Several cameras", Description: "The same subject seen by several cameras."},
		}},
		{ID: darwin, Name: "Darwin", Description: "Language, reasoning and speech.", Tasks: []wire.CatalogTask{
			{ID: "conversation", Name: "Conversation", Description: "Chat with context."},
			{ID: "reasoning", Name: "Reasoning", Description: "Answers that take several steps."},
			{ID: "planning", Name: "Planning", Description: "Plans and task lists."},
			{ID: "code", Name: "Code", Description: "Writing and explaining code."},
			{ID: "vision", Name: "Vision", Description: "Questions about images."},
			{ID: "speech_to_text", Name: "Speech to text", Description: "Transcripts of recordings."},
			{ID: "text_to_speech", Name: "Text to speech", Description: "Spoken text."},
			{ID: "voice_footprint", Name: "Voice footprint", Description: "What identifies a voice."},
			{ID: "voice_analysis", Name: "Voice analysis", Description: "Pitch, register, rate and loudness of a voice."},
			{ID: "translation", Name: "Translation", Description: "Text in another language."},
			{ID: "deep_search", Name: "Deep search", Description: "Reports from the web, with sources."},
			{ID: "image_generation", Name: "Image generation", Description: "Images from a description."},
		}},
		{ID: emoticore, Name: "EmotiCore", Description: "Emotion in text, faces and voices.", Tasks: []wire.CatalogTask{
			{ID: "text", Name: "Text", Description: "Emotion in text."},
			{ID: "face", Name: "Face", Description: "Emotion in faces."},
			{ID: "voice", Name: "Voice", Description: "Emotion in voices."},
			{ID: "multimodal", Name: "Multimodal", Description: "Emotion in several of these together."},
		}},
	}
}

// describe returns what the contract says of a model that it names, and nothing of any other.
func describe(model string) string {
	switch model {
	case "Darwin":
		return "Chat and reasoning: conversation, planning and code."
	case "Nova":
		return "Chat and reasoning like Darwin's. It calls no skills by itself yet; invoke them by their names."
	}
	return ""
}
