package wire

// TranscribeRequest is the JSON body of POST /api/v1/transcribe. The gateway reads the audio while it arrives.
type TranscribeRequest struct {
	AudioBase64 string `json:"audio_base64" bind:"required,min=1"`
	Language    string `json:"language" bind:"max=35,default=auto"` // a language tag
	Filename    string `json:"filename" bind:"max=255"`
}

// Transcript answers POST /api/v1/transcribe.
type Transcript struct {
	Text            string              `json:"text"` // empty when nothing was said
	Language        *string             `json:"language"`
	DurationSeconds *float64            `json:"duration_seconds"`
	Segments        []TranscriptSegment `json:"segments"` // empty when the server does not divide its text
	Backend         string              `json:"backend"`
}

// TranscriptSegment is a part of a transcript. Start and End are seconds from the start of the recording.
type TranscriptSegment struct {
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Text  string  `json:"text"`
}

// SttStatus answers GET /api/v1/stt-status.
type SttStatus struct {
	Available bool          `json:"available"`
	Backend   string        `json:"backend"`
	Languages []string      `json:"languages"` // empty when the servers do not say
	Detail    *string       `json:"detail"`
	Upstreams []SttUpstream `json:"upstreams"`
}

// SttUpstream is how a server that transcribes stands on the node that answers.
type SttUpstream struct {
	ID                string   `json:"id"`
	State             string   `json:"state"` // "up", "probing", "resting", "down" or "open"
	InFlight          int      `json:"in_flight"`
	LastFailure       *string  `json:"last_failure"`        // class of the last failure, null when the last call went well
	RetryAfterSeconds *float64 `json:"retry_after_seconds"` // until it is asked again; null unless it is resting or open
}

// SynthesizeRequest is the body of POST /api/v1/synthesize. The text has at most 10,000 characters.
type SynthesizeRequest struct {
	Text     string `json:"text" bind:"required,min=1,max=10000"`
	Language string `json:"language" bind:"max=35,default=en"`
}

// Speech answers POST /api/v1/synthesize. The gateway puts it together around the audio; a test holds it to the struct.
type Speech struct {
	Type            string   `json:"type"` // always "audio"
	AudioB64        string   `json:"audio_b64"`
	Format          string   `json:"format"` // "mp3" or "wav"
	Language        string   `json:"language"`
	DurationSeconds *float64 `json:"duration_seconds"` // null for MP3, whose length only decoding tells
	Backend         string   `json:"backend"`
}

// Synthesis is the one event of a stream of text_to_speech: what to send to the endpoint for the audio.
type Synthesis struct {
	Type     string `json:"type"`     // always "synthesis"
	Endpoint string `json:"endpoint"` // always "/api/v1/synthesize"
	Text     string `json:"text"`
	Language string `json:"language"`
	Backend  string `json:"backend"`
}

// VoiceRequest is the JSON body of POST /api/v1/voice/characteristics and /api/v1/voice/analyze.
type VoiceRequest struct {
	AudioBase64 string `json:"audio_base64" bind:"required,min=1"`
	Format      string `json:"format" bind:"max=16,default=wav"`
	Language    string `json:"language" bind:"max=35,default=auto"`
}

// VoiceCharacteristics answers the same.
type VoiceCharacteristics struct {
	F0              PitchStatistics  `json:"f0"`
	Gender          GenderEstimate   `json:"gender"`
	Register        string           `json:"register"` // "grave", "medium" or "aigu"
	SpeakingRate    *float64         `json:"speaking_rate"`
	VoicedRatio     float64          `json:"voiced_ratio"`
	Energy          EnergyStatistics `json:"energy"`
	DurationSeconds float64          `json:"duration_seconds"`
	Backend         string           `json:"backend"`
}

// PitchStatistics are of the fundamental frequency, in Hz. All are null when nothing is voiced.
type PitchStatistics struct {
	MeanHz   *float64 `json:"mean_hz"`
	MedianHz *float64 `json:"median_hz"`
	MinHz    *float64 `json:"min_hz"`
	MaxHz    *float64 `json:"max_hz"`
	StdHz    *float64 `json:"std_hz"`
}

// GenderEstimate is an estimate from pitch alone.
type GenderEstimate struct {
	Estimate   string  `json:"estimate"` // "male", "female" or "neutral"
	Confidence float64 `json:"confidence"`
}

// EnergyStatistics are in decibels relative to full scale.
type EnergyStatistics struct {
	MeanDB       float64  `json:"mean_db"`
	MaxDB        float64  `json:"max_db"`
	LoudnessLUFS *float64 `json:"loudness_lufs"`
}

// VoiceIDRequest is the body of POST /api/v1/voice-id.
type VoiceIDRequest struct {
	Action       string `json:"action" bind:"enum=extract|register|identify,default=extract"`
	AudioBase64  string `json:"audio_base64" bind:"required,min=1"`
	SpeakerLabel string `json:"speaker_label" bind:"max=256"`
}

// VoiceFootprint answers POST /api/v1/voice-id, and is the one event of a stream of voice_footprint.
type VoiceFootprint struct {
	Type         string    `json:"type"` // always "voice_footprint"
	Action       string    `json:"action"`
	Embedding    []float64 `json:"embedding"`
	EmbeddingDim int       `json:"embedding_dim"`
	SpeakerLabel *string   `json:"speaker_label"`
	Score        *float64  `json:"score"`
	Backend      string    `json:"backend"`
}
