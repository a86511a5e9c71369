package mockmodel

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"net/http"
	"strings"

	"modelgate.internal/bench/internal/mockmodel/openai"
)

const (
	audioFieldBytesMax = 64 << 10 // of one field beside the audio
	speechBytesMax     = 1 << 20  // of a request for speech
	voiceBytesMax      = 64 << 20 // of a request about a voice
	toneRate           = 16_000   // samples a second
	toneHz             = 440
	toneSamplesMax     = 2 * toneRate
	embeddingDim       = 32
)

// transcriptions answers POST /v1/audio/transcriptions. The text says how many bytes came and what they hash to, so that a test can
// prove that a recording arrived as it was sent.
func (s *Server) transcriptions(w http.ResponseWriter, r *http.Request) {
	parts, err := r.MultipartReader()
	if err != nil {
		badAudio(w, "The body is not multipart/form-data.")
		return
	}
	var file digest
	fields := map[string]string{"language": "en", "response_format": "json"}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			badAudio(w, "The form cannot be read.")
			return
		}
		if part.FormName() == "file" {
			file = digest{name: part.FileName(), sum: sha256.New()}
			if file.size, err = io.Copy(file.sum, part); err != nil {
				badAudio(w, "The file broke off.")
				return
			}
			continue
		}
		value, err := io.ReadAll(io.LimitReader(part, audioFieldBytesMax))
		if err != nil {
			badAudio(w, "The form cannot be read.")
			return
		}
		fields[part.FormName()] = string(value)
	}
	if file.sum == nil {
		badAudio(w, "The form has no file.")
		return
	}
	segments := file.segments()
	answer := map[string]any{"text": segments[0] + " " + segments[1]}
	if fields["response_format"] == "verbose_json" {
		answer["task"], answer["language"], answer["duration"] = "transcribe", fields["language"], 2.0
		answer["segments"] = []any{
			map[string]any{"id": 0, "start": 0.0, "end": 1.0, "text": segments[0]},
			map[string]any{"id": 1, "start": 1.0, "end": 2.0, "text": " " + segments[1]},
		}
	}
	writeJSON(w, answer)
}

// digest is a file that was received.
type digest struct {
	name string
	size int64
	sum  hash.Hash
}

func (d *digest) segments() [2]string {
	return [2]string{"Simulated transcript of " + d.name + ".", fmt.Sprintf("%d bytes, sha256 %x.", d.size, d.sum.Sum(nil)[:8])}
}

// speech answers POST /v1/audio/speech with a tone as WAV, whatever format is asked for. The header X-Simulator labels it.
func (s *Server) speech(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Input string `json:"input"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, speechBytesMax)).Decode(&asked); err != nil || asked.Input == "" {
		badAudio(w, "The body is not a JSON object with an input.")
		return
	}
	w.Header().Set("Content-Type", "audio/wav")
	_, _ = w.Write(tone(min(len(asked.Input)*toneRate/20, toneSamplesMax))) // a client that left
}

// tone is a sine as WAV: 16 bits, one channel.
func tone(samples int) []byte {
	const headBytes = 44
	le := binary.LittleEndian
	b := make([]byte, 0, headBytes+2*samples)
	b = append(b, "RIFF"...)
	b = le.AppendUint32(b, uint32(headBytes-8+2*samples))
	b = append(b, "WAVEfmt "...)
	b = le.AppendUint32(b, 16)
	b = le.AppendUint16(b, 1) // PCM
	b = le.AppendUint16(b, 1) // channels
	b = le.AppendUint32(b, toneRate)
	b = le.AppendUint32(b, 2*toneRate)
	b = le.AppendUint16(b, 2)
	b = le.AppendUint16(b, 16)
	b = append(b, "data"...)
	b = le.AppendUint32(b, uint32(2*samples))
	for i := range samples {
		level := math.Sin(2*math.Pi*toneHz*float64(i)/toneRate) * math.MaxInt16 / 4
		b = le.AppendUint16(b, uint16(int16(level)))
	}
	return b
}

// voice answers POST /native/voice/characteristics and /native/voice/analyze: numbers that depend on the recording alone.
func (s *Server) voice(w http.ResponseWriter, r *http.Request) {
	audio, _, ok := voiceOf(w, r)
	if !ok {
		return
	}
	sum := sha256.Sum256(audio)
	pitch := 80 + float64(sum[0])
	gender, register := "neutral", "medium"
	switch {
	case pitch < 150:
		gender, register = "male", "grave"
	case pitch > 200:
		gender, register = "female", "aigu"
	}
	writeJSON(w, map[string]any{
		"f0":     map[string]any{"mean_hz": pitch, "median_hz": pitch - 1, "min_hz": pitch / 2, "max_hz": pitch * 2, "std_hz": 12.5},
		"gender": map[string]any{"estimate": gender, "confidence": 0.5}, "register": register, "speaking_rate": 4.0, "voiced_ratio": 0.5,
		"energy":           map[string]any{"mean_db": -20.5, "max_db": -3.0, "loudness_lufs": nil},
		"duration_seconds": float64(len(audio)) / (2 * toneRate), "backend": "simulator",
	})
}

// voiceID answers POST /native/voice-id.
func (s *Server) voiceID(w http.ResponseWriter, r *http.Request) {
	audio, asked, ok := voiceOf(w, r)
	if !ok {
		return
	}
	sum := sha256.Sum256(audio)
	embedding := make([]float64, embeddingDim)
	for i := range embedding {
		embedding[i] = math.Round(float64(int(sum[i])-127)/128*1000) / 1000
	}
	answer := map[string]any{
		"action": asked.Action, "embedding": embedding, "embedding_dim": embeddingDim, "speaker_label": nil, "score": nil, "backend": "simulator",
	}
	switch asked.Action {
	case "register":
		answer["speaker_label"] = asked.Speaker
	case "identify":
		answer["speaker_label"], answer["score"] = "simulated speaker", 0.5
	}
	writeJSON(w, answer)
}

// voiceQuestion is what is asked about a voice.
type voiceQuestion struct {
	Audio   string `json:"audio_base64"`
	Action  string `json:"action"`
	Speaker string `json:"speaker_label"`
}

func voiceOf(w http.ResponseWriter, r *http.Request) (audio []byte, asked voiceQuestion, ok bool) {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, voiceBytesMax)).Decode(&asked); err != nil {
		badAudio(w, "The body is not a JSON object.")
		return nil, asked, false
	}
	audio, err := base64.StdEncoding.DecodeString(strings.TrimSpace(asked.Audio))
	if err != nil || len(audio) == 0 {
		badAudio(w, "audio_base64 is not base64.")
		return nil, asked, false
	}
	return audio, asked, true
}

func badAudio(w http.ResponseWriter, message string) {
	writeError(w, &openai.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: message})
}
