package fault

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"

	"modelgate.internal/bench/internal/mockmodel/openai"
)

const htmlPage = "<!doctype html><html><head><title>Simulated page</title></head><body><h1>It works</h1></body></html>\n"

// answers are the scenarios that answer something else than was asked for.
func answers() []Scenario {
	return []Scenario{
		{Name: "status", Doc: "another status with the protocol's error object", Params: []Param{
			count("code", "500", "the status, from 200 to 599"),
			text("retry-after", "", "value of Retry-After: seconds or an HTTP date with _ for spaces"),
			text("error", "", "the error's code"),
			text("message", "", "the error's message, with _ for spaces; - sends no body"),
		}, run: runStatus},
		{Name: "status-html", Doc: "another status with an HTML page, as proxies send it", Params: []Param{
			count("code", "502", "the status"),
		}, run: runStatusHTML},
		{Name: "redirect", Doc: "a redirect", Params: []Param{
			count("code", "307", "the status"), text("to", "/health", "value of Location"),
		}, run: runRedirect},
		{Name: "no-content", Doc: "status 204", run: func(x *Exchange) error {
			x.Entry.Status(204)
			x.Entry.Closing()
			x.W.WriteHeader(204)
			return nil
		}},
		{Name: "wrong-type", Doc: "the right body under the wrong content type", Params: []Param{
			text("type", "text/plain", "the content type"),
		}, run: runWrongType},
		{Name: "html-200", Doc: "status 200 and an HTML page", Breaks: true, run: func(x *Exchange) error {
			return x.sendBody(x.http(), head{status: 200, contentType: "text/html; charset=utf-8", length: lengthOfBody}, []byte(htmlPage))
		}},
		{Name: "empty-200", Doc: "status 200, JSON content type, no body", Breaks: true, run: func(x *Exchange) error {
			return x.sendBody(x.http(), jsonHead(), nil)
		}},
		{Name: "error-200", Doc: "status 200 and an error object as JSON, also when a stream was asked for", Breaks: true, Params: []Param{
			text("code", "server_error", "the error's code"),
		}, run: func(x *Exchange) error {
			return x.sendBody(x.http(), jsonHead(), errorObject(x.value("code")))
		}},
		{Name: "unary-for-stream", Doc: "a unary answer though a stream was asked for", run: func(x *Exchange) error {
			return x.sendBody(x.http(), jsonHead(), x.Answer.JSON(true))
		}},
		{Name: "stream-for-unary", Doc: "a stream though none was asked for", run: func(x *Exchange) error {
			x.Request.Stream = true
			return Normal(x)
		}},
		{Name: "gzip", Doc: "a gzip body whatever Accept-Encoding says", Params: []Param{
			count("lie", "0", "1 says gzip and sends plain bytes"),
		}, run: runGzip},
	}
}

func runStatus(x *Exchange) error {
	e := openai.ForStatus(min(max(x.count("code"), 200), 599))
	if code := x.value("error"); code != "" {
		e.Code = code
	}
	message := x.value("message")
	if message != "" {
		e.Message = strings.ReplaceAll(message, "_", " ")
	}
	h := jsonHead()
	h.status = e.Status
	if after := x.value("retry-after"); after != "" {
		h.extra = [][2]string{{"Retry-After", string(bytes.ReplaceAll([]byte(after), []byte("_"), []byte(" ")))}}
	}
	if e.Status == http.StatusNoContent || e.Status == http.StatusNotModified {
		h.length = lengthUnknown
		return x.sendBody(x.http(), h, nil)
	}
	if message == "-" {
		return x.sendBody(x.http(), h, nil)
	}
	return x.sendBody(x.http(), h, e.JSON())
}

func runStatusHTML(x *Exchange) error {
	code := min(max(x.count("code"), 200), 599)
	return x.sendBody(x.http(), head{status: code, contentType: "text/html", length: lengthOfBody}, []byte(htmlPage))
}

func runRedirect(x *Exchange) error {
	code := min(max(x.count("code"), 300), 399)
	return x.sendBody(x.http(), head{
		status: code, contentType: "text/plain", length: lengthOfBody, extra: [][2]string{{"Location", x.value("to")}},
	}, []byte("simulated redirect\n"))
}

func runWrongType(x *Exchange) error {
	h, body := x.streamBytes()
	h.contentType = x.value("type")
	return x.sendBody(x.http(), h, body)
}

func runGzip(x *Exchange) error {
	h, body := x.streamBytes()
	h.extra = append(h.extra, [2]string{"Content-Encoding", "gzip"})
	if x.count("lie") == 0 {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(body) // writes to memory
		_ = z.Close()
		body = packed.Bytes()
	}
	h.length = len(body)
	return x.sendBody(x.http(), h, body)
}
