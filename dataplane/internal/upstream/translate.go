package upstream

import (
	"context"
	"encoding/json"
)

// Auto is the source language that a translation server finds out by itself.
const Auto = "auto"

// Undetermined is the code of a language that nobody could tell, by BCP 47.
const Undetermined = "und"

// Language is a language that a translation server knows.
type Language struct {
	Code    string   `json:"code"`
	Name    string   `json:"name"`
	Targets []string `json:"targets"` // what it can be translated to
}

// Translation is a text in another language.
type Translation struct {
	Text   string
	Source string // the language given, or the one that was found; Undetermined if none was
}

// Translate puts text from one language, or from Auto, into another. It speaks the API of LibreTranslate, whose key goes into
// the body; https://github.com/LibreTranslate/LibreTranslate. The text of the answer may be empty.
func (s *Service) Translate(ctx context.Context, text, source, target string) (Translation, error) {
	var answer struct {
		Text     *string         `json:"translatedText"`
		Detected json.RawMessage `json:"detectedLanguage"` // an object, or an empty list
	}
	err := s.libre(ctx, "/translate", libreRequest{Q: text, Source: source, Target: target, Format: "text"}, &answer)
	switch {
	case err != nil:
		return Translation{}, err
	case answer.Text == nil:
		return Translation{}, s.Invalid("has no translatedText")
	case source != Auto:
		return Translation{Text: *answer.Text, Source: source}, nil
	}
	var found struct {
		Language string `json:"language"`
	}
	if json.Unmarshal(answer.Detected, &found) == nil && found.Language != "" {
		return Translation{Text: *answer.Text, Source: found.Language}, nil
	}
	// Old servers do not say what they found. That it cannot be told is no reason to withhold the translation.
	if found.Language, err = s.Detect(ctx, text); err != nil {
		found.Language = Undetermined
	}
	return Translation{Text: *answer.Text, Source: found.Language}, nil
}

// Detect returns the language that a text most likely is in.
func (s *Service) Detect(ctx context.Context, text string) (string, error) {
	var answer []struct {
		Language string `json:"language"`
	}
	if err := s.libre(ctx, "/detect", libreRequest{Q: text}, &answer); err != nil {
		return "", err
	}
	if len(answer) == 0 || answer[0].Language == "" {
		return Undetermined, nil
	}
	return answer[0].Language, nil
}

// Languages returns the languages that a translation server knows.
func (s *Service) Languages(ctx context.Context) ([]Language, error) {
	reply, err := s.Do(ctx, &Exchange{Method: "GET", Path: "/languages", Accept: "application/json", BytesMax: listBytesMax, Time: listTime})
	if err != nil {
		return nil, err
	}
	var list []Language
	if json.Unmarshal(reply.Body, &list) != nil || len(list) == 0 || len(list) > languagesMax {
		return nil, s.Invalid("is not a list of languages")
	}
	for _, l := range list {
		if l.Code == "" || len(l.Code) > languageCodeMax {
			return nil, s.Invalid("lists a language without a code")
		}
	}
	return list, nil
}

// libreRequest is the body of LibreTranslate's calls.
type libreRequest struct {
	Q      string `json:"q"`
	Source string `json:"source,omitempty"`
	Target string `json:"target,omitempty"`
	Format string `json:"format,omitempty"`
	APIKey string `json:"api_key,omitempty"`
}

func (s *Service) libre(ctx context.Context, path string, r libreRequest, answer any) error {
	r.APIKey = s.credential
	body, err := json.Marshal(r)
	if err != nil {
		panic("BUG: upstream: a request of strings does not encode")
	}
	reply, err := s.Do(ctx, &Exchange{Path: path, Body: body, Accept: "application/json", Time: translateTime})
	if err != nil {
		return err
	}
	if json.Unmarshal(reply.Body, answer) != nil {
		return s.Invalid("is not what LibreTranslate answers")
	}
	return nil
}
