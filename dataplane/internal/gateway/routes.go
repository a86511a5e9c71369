package gateway

import "modelgate.internal/dataplane/internal/api"

// Routes are the operations that are built. A new one is a line here, its mark in the contract removed, and a transcript per
// status.
func Routes(a *api.API) []Route {
	return []Route{
		{ID: "modelCatalog", Handle: a.Catalog},
		{ID: "listModels", Handle: a.Models},
		{ID: "agent", Handle: a.Agent, Once: a.AgentOnce, Counted: true, Darwin: true, Image: true, Dry: true},
		{ID: "generate", Handle: a.Generate, Counted: true, Image: true, Dry: true},
		{ID: "generateStream", Handle: a.GenerateStream, Counted: true, Image: true, Dry: true},
		{ID: "chatCompletions", Handle: a.ChatCompletions, Counted: true, Image: true, Dry: true},
		{ID: "openaiChatCompletions", Handle: a.ChatCompletions, Counted: true, Image: true, Dry: true},
		{ID: "openaiModels", Handle: a.OpenAIModels},
		{ID: "openaiModel", Handle: a.OpenAIModel},
		{ID: "deepSearch", Handle: a.DeepSearch, Counted: true},
		{ID: "translate", Handle: a.Translate, Counted: true},
		{ID: "translateLanguages", Handle: a.TranslateLanguages},
		{ID: "publicTranslate", Handle: a.PublicTranslate, Open: true},
		{ID: "publicTranslateLanguages", Handle: a.PublicTranslateLanguages, Open: true},
		{ID: "predict", Handle: a.Predict, Counted: true, Image: true},
		{ID: "listSkills", Handle: a.Skills},
		{ID: "invokeSkill", Handle: a.InvokeSkill, Counted: true, Image: true},
		{ID: "depthEstimate", Handle: a.DepthEstimate, Counted: true, Image: true},
		{ID: "spatialQuery", Handle: a.SpatialQuery, Counted: true, Image: true},
		{ID: "multicamIdentify", Handle: a.MulticamIdentify, Counted: true, Image: true},
		{ID: "trackingAnalyze", Handle: a.TrackingAnalyze, Counted: true, Image: true},
		{ID: "detect", Handle: a.Detect, Counted: true, Image: true},
		{ID: "extract", Handle: a.Extract, Counted: true, Image: true},
		{ID: "compare", Handle: a.Compare, Counted: true, Image: true},
		{ID: "identify", Handle: a.Identify, Counted: true, Image: true},
		{ID: "enroll", Handle: a.Enroll, Counted: true, Image: true},
		{ID: "deleteEnrollment", Handle: a.DeleteEnrollment, Counted: true},
		{ID: "deleteEnrollmentByPost", Handle: a.DeleteEnrollment, Counted: true},
		{ID: "match", Handle: a.Match, Counted: true, Image: true},
		{ID: "sttStatus", Handle: a.SttStatus},
		{ID: "transcribe", Handle: a.Transcribe, Counted: true, Upload: uploadMax(api.AudioBytesMax)},
		{ID: "synthesize", Handle: a.Synthesize, Counted: true},
		{ID: "voiceCharacteristics", Handle: a.VoiceCharacteristics, Counted: true, Upload: uploadMax(api.VoiceBytesMax)},
		{ID: "voiceAnalyze", Handle: a.VoiceAnalyze, Counted: true, Upload: uploadMax(api.VoiceBytesMax)},
		{ID: "voiceID", Handle: a.VoiceID, Counted: true, Upload: uploadMax(api.VoiceBytesMax)},
		{ID: "health", Handle: a.Health, Darwin: true},
	}
}

// uploadMax is the largest body that a recording of so many bytes comes in: as base64, with room for line ends and fields.
func uploadMax(audioBytes int64) int64 { return audioBytes/2*3 + 64<<10 }
