package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Message is one turn of the conversation.
type Message struct {
	Role       string     `json:"role"`
	Content    Content    `json:"content"`
	Name       string     `json:"name"`
	ToolCalls  []ToolCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

// Content is a message's content: a string, an array of parts, or null.
type Content struct {
	// Null is true for null or no content at all.
	Null bool
	// Text is the string, or the text parts joined by line feeds.
	Text string
	// Images counts image_url parts.
	Images int
	// Others counts parts that are neither text nor image (audio, files).
	Others int
	// isSet separates an absent member, for which UnmarshalJSON is never called, from an empty string.
	isSet bool
}

// UnmarshalJSON accepts the three forms of content.
func (c *Content) UnmarshalJSON(b []byte) error {
	*c = Content{isSet: true}
	switch {
	case bytes.Equal(b, []byte("null")):
		c.Null = true
		return nil
	case b[0] == '"':
		return json.Unmarshal(b, &c.Text)
	case b[0] == '[':
		return c.parts(b)
	}
	e := Invalid("messages.content", "Invalid type for 'messages.content': expected one of a string or array of objects.")
	e.Code = "invalid_type"
	return e
}

func (c *Content) parts(b []byte) error {
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Refusal  string `json:"refusal"`
		ImageURL *struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return decodeError(err)
	}
	var texts []string
	for _, p := range parts {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "refusal":
			texts = append(texts, p.Refusal)
		case "image_url":
			if p.ImageURL == nil || p.ImageURL.URL == "" {
				return Invalid("messages.content.image_url", "Missing required parameter: 'messages.content.image_url.url'.")
			}
			c.Images++
		case "input_audio", "file":
			c.Others++
		default:
			return badValue("messages.content.type", p.Type, "text", "image_url", "input_audio", "refusal", "file")
		}
	}
	c.Text = strings.Join(texts, "\n")
	return nil
}

func (m *Message) validate(i int) error {
	param := fmt.Sprintf("messages[%d].content", i)
	switch m.Role {
	case "assistant":
		if (m.Content.Null || !m.Content.isSet) && len(m.ToolCalls) == 0 {
			return Invalid(param, "Invalid value for '%s': expected a string, got null.", param)
		}
		return nil
	case "tool":
		if m.ToolCallID == "" {
			return Invalid(fmt.Sprintf("messages[%d].tool_call_id", i), "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.")
		}
	case "system", "developer", "user", "function":
	default:
		return badValue(fmt.Sprintf("messages[%d].role", i), m.Role, "system", "developer", "assistant", "user", "function", "tool")
	}
	if m.Content.Null || !m.Content.isSet {
		return Invalid(param, "Invalid value for '%s': expected a string, got null.", param)
	}
	return nil
}

// Stop is the list of stop sequences; the wire also allows one string or null.
type Stop []string

// UnmarshalJSON accepts a string, an array of strings or null.
func (s *Stop) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		*s = make(Stop, 1)
		return json.Unmarshal(b, &(*s)[0])
	}
	return json.Unmarshal(b, (*[]string)(s))
}

// ToolChoice says whether tools are to be called.
type ToolChoice struct {
	// Mode is "", "none", "auto", "required" or "named".
	Mode string
	// Name is the function to call in mode "named".
	Name string
}

// UnmarshalJSON accepts a word, an object that names a function, or null.
func (t *ToolChoice) UnmarshalJSON(b []byte) error {
	*t = ToolChoice{}
	switch {
	case bytes.Equal(b, []byte("null")):
		return nil
	case b[0] == '"':
		if err := json.Unmarshal(b, &t.Mode); err != nil {
			return err
		}
		if t.Mode != "none" && t.Mode != "auto" && t.Mode != "required" {
			return badValue("tool_choice", t.Mode, "none", "auto", "required")
		}
		return nil
	}
	var named struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := json.Unmarshal(b, &named); err != nil {
		return decodeError(err)
	}
	if named.Type != "function" || named.Function.Name == "" {
		return Invalid("tool_choice", "Invalid value for 'tool_choice': expected {\"type\":\"function\",\"function\":{\"name\":...}}.")
	}
	t.Mode, t.Name = "named", named.Function.Name
	return nil
}
