package wire

// TranslateRequest is the body of POST /api/v1/translate.
type TranslateRequest struct {
	Text   string `json:"text" bind:"required,min=1,max=20000"`
	Source string `json:"source" bind:"max=35,default=auto"`
	Target string `json:"target" bind:"required,min=1,max=35"`
}

// PublicTranslateRequest is the body of POST /api/translate: the same with less text.
type PublicTranslateRequest struct {
	Text   string `json:"text" bind:"required,min=1,max=2000"`
	Source string `json:"source" bind:"max=35,default=auto"`
	Target string `json:"target" bind:"required,min=1,max=35"`
}

// Translation is a text in another language. Via is "libretranslate" or "chat", for a chat model that was asked to translate.
type Translation struct {
	TranslatedText string `json:"translated_text"`
	Source         string `json:"source"` // given or found; "und" if nobody could tell
	Target         string `json:"target"`
	Backend        string `json:"backend"`
	Via            string `json:"via"`
}

// LanguageList is the languages that there are names for, in the order of their codes.
type LanguageList struct {
	Languages []Language `json:"languages"`
	Count     int        `json:"count"`
}

// Language is a language and whether it can be translated now. Targets are empty where a chat model translates, which may be
// asked for any.
type Language struct {
	Code      string   `json:"code"`
	Name      string   `json:"name"`
	Available bool     `json:"available"`
	Via       *string  `json:"via"` // as in a Translation; null if it is not available
	Targets   []string `json:"targets"`
}
