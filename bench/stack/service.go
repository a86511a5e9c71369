package stack

import (
	"strings"

	"modelgate.internal/shared/plane"
)

// service is a capability beside the chat that a server, or the simulator in its place, can have.
type service struct {
	id      string // of the model and the upstream; in capitals part of the names of its variables
	dialect string
	family  string
	tasks   []string
	path    string // at the simulator
}

// services are what can be configured. Each has a variable MODELGATE_<ID>_URL, and _KEY and _MODEL where the server wants them;
// speech has _VOICE, too.
func services() []service {
	return []service{
		{"transcribe", plane.DialectTranscriptions, "darwin", []string{"speech_to_text"}, "/v1"},
		{"speech", plane.DialectSpeech, "darwin", []string{"text_to_speech"}, "/v1"},
		{"images", plane.DialectImages, "darwin", []string{"image_generation"}, "/v1"},
		{"voice", plane.DialectNative, "darwin", []string{"voice_footprint", "voice_analysis"}, "/native"},
		{"translate", plane.DialectTranslate, "darwin", []string{"translation"}, "/libretranslate"},
		{"search", plane.DialectSearch, "darwin", []string{"deep_search"}, "/searxng"},
		{"biometrix", plane.DialectNative, "biometrix", []string{
			"face", "iris", "liveness", "gait", "footprint", "person_reid", "object_signature", "tracking", "depth", "spatial", "multicam",
		}, "/native"},
		{"emoticore", plane.DialectNative, "emoticore", []string{"text", "face", "voice", "multimodal"}, "/native"},
	}
}

func (v *service) variable(what string) string {
	return "MODELGATE_" + strings.ToUpper(v.id) + "_" + what
}

// catalog returns the models and upstreams of the services, and the credentials of the nodes for them. A service without a
// server is simulated if the chat is; else it is a model that nothing serves.
func (s *Stack) catalog() (models []plane.Model, upstreams []plane.UpstreamSpec, credentials map[string]string) {
	credentials = map[string]string{}
	for _, v := range services() {
		model := plane.Model{ID: v.id, Family: v.family, Tasks: v.tasks, Setting: v.variable("URL")}
		spec := plane.UpstreamSpec{ID: v.id, Dialect: v.dialect, BaseURL: s.variable(v.variable("URL")), Model: s.variable(v.variable("MODEL"))}
		if v.dialect == plane.DialectSpeech {
			spec.Voice = s.variable(v.variable("VOICE"))
		}
		switch {
		case spec.BaseURL != "":
			if key := v.variable("KEY"); s.variable(key) != "" {
				spec.Credential, credentials[v.id] = v.id, "env:"+key
			}
		case s.simulated():
			spec.BaseURL, spec.Model, spec.Simulator = "http://"+s.address(portSimulator)+v.path, simulatorModel, true
		}
		if spec.BaseURL != "" {
			model.Upstream, upstreams = v.id, append(upstreams, spec)
		}
		models = append(models, model)
	}
	return models, upstreams, credentials
}

// variable returns a variable of the environment that the processes have, or "".
func (s *Stack) variable(name string) (value string) {
	for _, pair := range s.environ() {
		if rest, ok := strings.CutPrefix(pair, name+"="); ok {
			value = rest
		}
	}
	return value
}
