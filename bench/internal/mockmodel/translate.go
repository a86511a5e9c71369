package mockmodel

import (
	"encoding/json"
	"net/http"
	"slices"
)

// simulatedLanguages are those that the simulator says it knows.
func simulatedLanguages() []string {
	return []string{"am", "ar", "de", "en", "es", "fr", "ha", "hi", "ig", "ja", "pt", "ru", "sw", "yo", "zh", "zu"}
}

// language is an entry of LibreTranslate's list.
type language struct {
	Code    string   `json:"code"`
	Name    string   `json:"name"`
	Targets []string `json:"targets"`
}

// languages answers GET /libretranslate/languages.
func (s *Server) languages(_ *http.Request, _ []byte) said {
	var list []language
	for _, code := range simulatedLanguages() {
		list = append(list, language{code, code + " [simulated]", simulatedLanguages()})
	}
	return said{answer: list}
}

// detect answers POST /libretranslate/detect.
func (s *Server) detect(_ *http.Request, _ []byte) said {
	return said{answer: []map[string]any{{"language": "en", "confidence": 0}}}
}

// translate answers POST /libretranslate/translate with the text itself, labelled.
func (s *Server) translate(_ *http.Request, body []byte) said {
	var q struct{ Q, Source, Target string }
	if json.Unmarshal(body, &q) != nil || q.Q == "" || q.Source == "" {
		return said{status: http.StatusBadRequest, answer: map[string]string{"error": "Invalid request: missing q or source parameter"}}
	}
	if !slices.Contains(simulatedLanguages(), q.Target) {
		return said{status: http.StatusBadRequest, answer: map[string]string{"error": q.Target + " is not supported"}}
	}
	answer := map[string]any{"translatedText": "[simulated " + q.Target + "] " + q.Q}
	if q.Source == "auto" {
		answer["detectedLanguage"] = map[string]any{"language": "en", "confidence": 0}
	}
	return said{words: q.Q, answer: answer}
}
