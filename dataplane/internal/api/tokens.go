package api

import (
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/wire"
)

// reserve takes the tokens of a chat from the limits of its caller, or refuses it. A stream ends where they do. A whole answer is asked for
// with no more than was reserved; but in OpenAI's words only if the request has a bound that can be lowered, else what the answer uses
// beyond that is owed. A dry run notes what it would reserve.
func reserve(c *call.Call, chat *upstream.Chat, stream bool) error {
	bound := chat.MaxTokens
	if chat.Raw != nil {
		bound = chat.Raw.MaxTokens
	}
	if c.Trace != nil {
		c.Need.Prompt, c.Need.Answer, c.Need.Stream = chat.Estimate(), bound, stream
		return nil
	}
	if c.Tokens == nil {
		return nil
	}
	reserved, err := c.Tokens.Reserve(chat.Estimate(), bound, stream)
	switch {
	case err != nil:
		return err
	case stream:
		chat.Budget = c.Tokens
	case chat.Raw != nil:
		chat.Raw.Lower(reserved)
	default:
		chat.MaxTokens = reserved
	}
	return nil
}

// reserveNative is reserve for a task whose server speaks the dialect native. The body says the bound as the contract does.
func reserveNative(c *call.Call, req *wire.GenerateRequest, body map[string]any, stream bool) error {
	if c.Trace != nil {
		c.Need.Prompt, c.Need.Answer, c.Need.Stream = promptTokens(req), req.MaxTokens, stream
		return nil
	}
	reserved, err := c.Tokens.Reserve(promptTokens(req), req.MaxTokens, stream)
	if err == nil && !stream && reserved < req.MaxTokens {
		body["max_tokens"] = reserved
	}
	return err
}

func promptTokens(req *wire.GenerateRequest) int64 {
	return upstream.Estimate(len(req.Prompt) + len(req.SystemPrompt))
}
