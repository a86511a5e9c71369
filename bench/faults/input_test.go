package faults

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	agentPath    = "/api/v1/agent"
	imageBodyMax = 12 << 20 // the bound of the agent's bodies
)

// inputs are the bad and the unusual requests.
func inputs() []*input {
	var all []*input
	for _, group := range [][]*input{bodies(), unusualBodies(), credentials(), framing(), protocols()} {
		all = append(all, group...)
	}
	for i, in := range all {
		in.id = fmt.Sprintf("input%d", i)
	}
	return all
}

// raw is a request with the headers in front of the body's length.
func raw(line, key, body string, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s HTTP/1.1\r\nHost: gateway\r\n", line)
	if key != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", key)
	}
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return b.String()
}

const post = "POST " + agentPath

// body is a row that sends one body. A refused one is the caller's usage, because it is known who calls.
func body(name, text string, status int, says string) *input {
	in := &input{
		name: name, wants: []answered{{status: status, says: says}}, calls: map[int]int64{status: 1},
		sends: func(key, id string) string { return raw(post, key, strings.ReplaceAll(text, "ID", marked(id))) },
	}
	if status == 200 {
		in.asked = 1
	}
	return in
}

// marked is the beginning of a prompt that the journal knows again.
func marked(id string) string { return "[[scenario:normal id=" + id + "]]" }

func bodies() []*input {
	const badJSON, badPrompt = "not valid JSON", "Missing or malformed prompt"
	return []*input{
		body("an object that does not end", `{"prompt":"x"`, 400, badJSON),
		body("no JSON", `hello`, 400, badJSON),
		body("two objects", `{"prompt":"x"}{"prompt":"y"}`, 400, badJSON),
		body("no body", ``, 400, "detail"),
		body("an array", `["x"]`, 400, "JSON object"),
		body("a string", `"x"`, 400, "JSON object"),
		body("null", `null`, 400, "JSON object"),
		body("no prompt", `{}`, 400, badPrompt),
		body("an empty prompt", `{"prompt":""}`, 400, badPrompt),
		body("a number for a prompt", `{"prompt":5}`, 400, badPrompt),
		body("a wrong type", `{"prompt":"x","stream":"maybe"}`, 422, `"loc":["body","stream"]`),
		body("three wrong values", `{"prompt":"x","stream":"maybe","max_tokens":0,"temperature":9}`, 422, `"loc":["body","max_tokens"]`),
		body("an unknown role", `{"prompt":"x","messages":[{"role":"boss","content":"y"}]}`, 422, `"loc":["body","messages",0,"role"]`),
		body("an unknown model", `{"prompt":"x","model":"Newton"}`, 404, "Newton"),
		body("invalid UTF-8", "{\"prompt\":\"x\xff\xfe\"}", 400, "UTF-8"),
		body("UTF-8 cut short", "{\"prompt\":\"x\xe2\x82\"}", 400, "UTF-8"),
		body("a raw NUL", "{\"prompt\":\"x\x00\"}", 400, badJSON),
		body("a raw line feed", "{\"prompt\":\"x\n\"}", 400, badJSON),
		body("nested beyond all sense", `{"prompt":`+strings.Repeat("[", 200_000)+strings.Repeat("]", 200_000)+`}`, 400, "detail"),
		body("nested beyond all sense, unfinished", strings.Repeat(`{"messages":[`, 100_000), 400, "detail"),
		body("a number of a million digits", `{"prompt":"x","max_tokens":`+strings.Repeat("9", 1_000_000)+`}`, 422, `"loc":["body","max_tokens"]`),
		body("a compressed body", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xabV*(\xca\xcf-(Q\xb2R\xaaP\xaa\x05\x00", 400, "detail"),
	}
}

func unusualBodies() []*input {
	return []*input{
		body("the same key twice", `{"prompt":"first","prompt":"ID second"}`, 200, `You said: second"`),
		body("an escaped NUL", `{"prompt":"ID a\u0000b"}`, 200, `You said: a\u0000b"`),
		body("half a surrogate pair", `{"prompt":"ID a\ud800b"}`, 200, "You said: a\uFFFDb\""),
		body("unknown properties, nested", `{"prompt":"ID x","other":`+strings.Repeat("[", 1000)+strings.Repeat("]", 1000)+`}`, 200, "You said: x"),
		body("white space", " \r\n\t{ \"prompt\" :\n\"ID x\" } \n", 200, "You said: x"),
		body("escaped keys", `{"\u0070rompt":"ID x"}`, 200, "You said: x"),
		body("a prompt of 1 MB", `{"prompt":"ID `+strings.Repeat("word ", 200_000)+`"}`, 200, "[shortened]"),
	}
}

func credentials() []*input {
	refused := func(name string, status int, sends func(key, id string) string) *input {
		return &input{name: name, sends: sends, wants: []answered{{status: status}}}
	}
	ask := func(id string) string { return `{"prompt":"` + marked(id) + ` x"}` }
	wrongTag := func(key string) string {
		last := byte('0')
		if key[len(key)-1] == last {
			last = '1'
		}
		return key[:len(key)-1] + string(last)
	}
	authorization := func(key string) string { return "Authorization: Bearer " + key }
	return []*input{
		refused("no key", 401, func(_, id string) string { return raw(post, "", ask(id)) }),
		refused("a key with a wrong last character", 401, func(key, id string) string { return raw(post, wrongTag(key), ask(id)) }),
		refused("a key that is cut", 401, func(key, id string) string { return raw(post, key[:len(key)-1], ask(id)) }),
		refused("a key that goes on", 401, func(key, id string) string { return raw(post, key+"0", ask(id)) }),
		refused("a key with another case", 401, func(key, id string) string { return raw(post, strings.ToUpper(key), ask(id)) }),
		refused("another scheme", 401, func(key, id string) string { return raw(post, "", ask(id), "Authorization: Basic "+key) }),
		refused("a good key and a bad one", 401, func(key, id string) string {
			return raw(post, "", ask(id), authorization(key), authorization(wrongTag(key)))
		}),
		refused("a bad key and a good one", 401, func(key, id string) string {
			return raw(post, "", ask(id), authorization(wrongTag(key)), authorization(key))
		}),
		{
			name: "the scheme in lower case", asked: 1, wants: []answered{{status: 200}}, calls: map[int]int64{200: 1},
			sends: func(key, id string) string { return raw(post, "", ask(id), "authorization: bearer "+key) },
		},
	}
}

// framing are requests whose end can be read in two ways, or not at all.
func framing() []*input {
	malformed := func(name string, sends func(key, id string) string) *input {
		return &input{name: name, sends: sends, wants: []answered{{status: 400}}, close: true}
	}
	headed := func(headers ...string) func(key, id string) string {
		return func(key, id string) string {
			text := `{"prompt":"` + marked(id) + ` x"}`
			return post + " HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer " + key + "\r\nContent-Type: application/json\r\n" +
				strings.ReplaceAll(strings.Join(headers, "\r\n"), "LEN", strconv.Itoa(len(text))) + "\r\n\r\n" + text
		}
	}
	return []*input{
		malformed("a length and chunks", headed("Content-Length: LEN", "Transfer-Encoding: chunked")),
		malformed("two lengths", headed("Content-Length: LEN", "Content-Length: 3")),
		malformed("the same length twice", headed("Content-Length: LEN", "Content-Length: LEN")),
		malformed("a negative length", headed("Content-Length: -1")),
		malformed("a length with a sign", headed("Content-Length: +LEN")),
		malformed("a length beyond all numbers", headed("Content-Length: 99999999999999999999")),
		malformed("an unknown coding", headed("Transfer-Encoding: gzip, chunked")),
		malformed("a folded header", headed("X-Folded: a", " b", "Content-Length: LEN")),
		malformed("a space before the colon", headed("X-Space : a", "Content-Length: LEN")),
		malformed("a NUL in a header", headed("X-Nul: a\x00b", "Content-Length: LEN")),
		malformed("two hosts", headed("Host: other", "Content-Length: LEN")),
		{ // chunks are read when it is known who calls
			name: "a chunk size that is none", close: true, wants: []answered{{status: 400}}, calls: map[int]int64{400: 1},
			sends: func(key, _ string) string {
				return strings.Replace(raw(post, key, "zz\r\n"), "Content-Length: 4", "Transfer-Encoding: chunked", 1)
			},
		},
		{
			name: "a body that ends early", close: true, ends: true, wants: []answered{{status: 400}},
			sends: func(key, _ string) string { return strings.TrimSuffix(raw(post, key, `{"prompt":"x"}`), `"}`) },
		},
		{
			name: "a header too large", close: true, wants: []answered{{status: 431}},
			sends: headed("X-Large: "+strings.Repeat("x", 20_000), "Content-Length: LEN"),
		},
		{
			name: "a path too long", close: true, wants: []answered{{status: 431}},
			sends: func(key, _ string) string { return raw("POST /"+strings.Repeat("x", 20_000), key, "{}") },
		},
		{
			name: "a body too large", close: true, wants: []answered{{status: 413, says: strconv.Itoa(imageBodyMax)}},
			sends: func(key, _ string) string { return raw(post, key, strings.Repeat("x", imageBodyMax+1)) },
		},
		{
			name: "chunks too large", close: true, wants: []answered{{status: 413, says: strconv.Itoa(imageBodyMax)}}, calls: map[int]int64{413: 1},
			sends: func(key, _ string) string {
				return chunked(raw(post, key, ""), strings.Repeat("x", imageBodyMax+1), 1<<20)
			},
		},
	}
}

// chunked gives a request without a body one in chunks of a size.
func chunked(request, body string, size int) string {
	var b strings.Builder
	b.WriteString(strings.Replace(request, "Content-Length: 0", "Transfer-Encoding: chunked", 1))
	for len(body) > 0 {
		n := min(size, len(body))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	b.WriteString("0\r\n\r\n")
	return b.String()
}

// protocols are the rarer parts of HTTP.
func protocols() []*input {
	ask := func(id, more string) string { return `{"prompt":"` + marked(id) + ` x` + more + `"}` }
	well := func(name string, sends func(key, id string) string) *input {
		return &input{name: name, sends: sends, asked: 1, wants: []answered{{status: 200, says: "You said: x"}}, calls: map[int]int64{200: 1}}
	}
	refused := func(name, line string, w answered) *input {
		return &input{name: name, wants: []answered{w}, sends: func(key, id string) string { return raw(line, key, ask(id, "")) }}
	}
	pipelined := well("three requests at once", func(key, id string) string {
		return raw(post, key, ask(id, " 1")) + raw(post, key, `{"prompt":""}`) + raw(post, key, ask(id, " 3"))
	})
	pipelined.asked, pipelined.calls = 2, map[int]int64{200: 2, 400: 1}
	pipelined.wants = []answered{{status: 200, says: "You said: x 1"}, {status: 400}, {status: 200, says: "You said: x 3"}}
	expecting := well("an expectation", func(key, id string) string { return raw(post, key, ask(id, ""), "Expect: 100-Continue") })
	expecting.wants = append([]answered{{status: 100}}, expecting.wants...)
	old := well("HTTP/1.0", func(key, id string) string {
		return strings.Replace(raw(post, key, ask(id, "")), "HTTP/1.1", "HTTP/1.0", 1)
	})
	old.close = true
	return []*input{
		well("a body in chunks", func(key, id string) string { return chunked(raw(post, key, ""), ask(id, ""), 7) }),
		expecting, old, pipelined,
		{
			name: "a stream by HTTP/1.0", wants: []answered{{status: 400, says: "HTTP/1.1"}}, calls: map[int]int64{400: 1},
			sends: func(key, id string) string {
				text := `{"stream":true,"prompt":"` + marked(id) + ` x"}`
				return strings.Replace(raw(post, key, text), "HTTP/1.1", "HTTP/1.0", 1)
			},
		},
		{
			name: "another major version", close: true, wants: []answered{{status: 505}},
			sends: func(key, id string) string {
				return strings.Replace(raw(post, key, ask(id, "")), "HTTP/1.1", "HTTP/2.0", 1)
			},
		},
		refused("a wrong method", "PUT "+agentPath, answered{status: 405, header: "Allow: POST, OPTIONS"}),
		refused("a method that is none", "BREW "+agentPath, answered{status: 405}),
		refused("an unknown path", "POST /api/v1/agents", answered{status: 404}),
		refused("a path of another plane", "GET /dev/apps", answered{status: 404}),
		refused("a planned operation", "GET /api/v1/firmware/jobs/x", answered{status: 501, says: "not built yet"}),
	}
}
