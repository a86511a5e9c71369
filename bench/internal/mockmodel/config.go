package mockmodel

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"modelgate.internal/bench/internal/mockmodel/fast"
)

const (
	// ShutdownGrace bounds how long Serve takes to return after its context has ended.
	ShutdownGrace = 700 * time.Millisecond
	// DefaultKeep is the number of requests remembered if Config.Keep is 0.
	DefaultKeep = 512
	// DefaultMaxBodyBytes bounds a request body if Config.MaxBodyBytes is 0.
	DefaultMaxBodyBytes = 64 << 20

	maxScriptBytes  = 1 << 20
	maxTimesChoices = 10_000
)

// Config is what a simulator needs to know. The zero value serves the model "mock" without delays.
type Config struct {
	// Models are the names served; none means "mock".
	Models []string
	// APIKey is the bearer token to ask for; empty asks for none.
	APIKey string
	// TokenDelay is the time between two content events of a stream.
	TokenDelay time.Duration
	// FirstTokenDelay is the time before the head of any answer.
	FirstTokenDelay time.Duration
	// Script chooses faults by model; see the package comment.
	Script string
	// Keep is the number of requests remembered.
	Keep int
	// MaxBodyBytes bounds a request body; larger ones are refused with 413.
	MaxBodyBytes int64
	// Fast answers chat completions from prebuilt bytes without looking at them; nil is the normal mode. Its Model
	// and Now are filled in.
	Fast *fast.Config
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log takes what goes wrong with connections; nil discards it.
	Log *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if len(c.Models) == 0 {
		c.Models = []string{"mock"}
	}
	if slices.Contains(c.Models, "") {
		return c, errors.New("a model needs a name")
	}
	if c.Keep == 0 {
		c.Keep = DefaultKeep
	}
	if c.MaxBodyBytes == 0 {
		c.MaxBodyBytes = DefaultMaxBodyBytes
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
