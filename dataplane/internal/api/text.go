package api

import (
	"bytes"
	"strconv"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/scan"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/apierr"
)

// textAnswer is a wire.TextAnswer, put together around the text as the upstream wrote it. A test holds it to the struct.
func textAnswer(c *call.Call, w *upstream.Whole) []byte {
	b := make([]byte, 0, len(w.Text)+160)
	b = append(b, `{"type":"text","text":`...)
	b = append(b, w.Text...)
	b = append(b, `,"model":`...)
	b = appendName(b, c.Facts.Model)
	b = append(b, `,"usage":{"tokens_in":`...)
	b = strconv.AppendInt(b, w.Use.TokensIn, 10)
	b = append(b, `,"tokens_out":`...)
	b = strconv.AppendInt(b, w.Use.TokensOut, 10)
	b = append(b, `,"source":"`...)
	b = append(b, w.Use.Source...)
	b = append(b, `"},"backend":"`...)
	b = append(b, c.Facts.Backend...)
	return append(b, `"}`...)
}

// appendName appends a name as a JSON string.
func appendName(b []byte, name string) []byte {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c == '"' || c == '\\' || c > '~' {
			return append(b, scan.Literal(name)...)
		}
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"')
}

// badPrompt makes a 400 of the violations that the contract calls a malformed request: no JSON, no object, no usable prompt.
// Others stay 422.
func badPrompt(err error) error {
	e := apierr.From(err)
	if e.Kind != apierr.Invalid {
		return err
	}
	for _, item := range e.Items {
		switch {
		case item.Type == "json_invalid":
			return apierr.New(apierr.BadRequest, "The body is not valid JSON: "+reason(item)+".").Because(err)
		case len(item.Loc) == 1:
			return apierr.New(apierr.BadRequest, `The body must be a JSON object, for example {"prompt":"Say hello."}.`).Because(err)
		case item.Loc[1] == "prompt":
			return apierr.New(apierr.BadRequest, `Missing or malformed prompt: send a non-empty string in "prompt".`).Because(err)
		}
	}
	return err
}

func reason(item apierr.Item) string {
	text, _ := item.Ctx["error"].(string)
	at, _ := item.Loc[1].(int64)
	return text + " at byte " + strconv.FormatInt(at, 10)
}

// checkImage drops an empty image and refuses a data URL.
func checkImage(chat *upstream.Chat, at ...any) error {
	if string(chat.Image) == `""` {
		chat.Image = nil
	}
	if !bytes.HasPrefix(chat.Image, []byte(`"data:`)) {
		return nil
	}
	return apierr.Violations(dataURL(append([]any{"body"}, at...), string(chat.Image[1:min(len(chat.Image)-1, 40)])))
}

// dataURL is the violation of base64 that is a data URL, a common mistake that upstreams answer in ways hard to understand.
func dataURL(at []any, start string) apierr.Item {
	return apierr.Item{
		Type: "value_error", Loc: at, Msg: "Value error, send the base64 text alone, without a data: prefix", Input: start + "…",
		Ctx: map[string]any{"error": "data: prefix"},
	}
}
