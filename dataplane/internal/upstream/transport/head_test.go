package transport

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// scanHead runs the head through the scanner, fed byte by byte, and the parser.
func scanHead(b []byte) (Head, int, error) {
	var s headScan
	for i := 1; i <= len(b); i++ {
		n, err := s.end(b[:i])
		if err != nil {
			return Head{}, 0, err
		}
		if n > 0 {
			h, err := parseHead(b[:n])
			return h, n, err
		}
	}
	return Head{}, 0, nil
}

func TestParseHead(t *testing.T) {
	for _, test := range []struct {
		name, head string
		want       Head
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", Head{Status: 200, Length: 12}},
		{"no reason", "HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", Head{Status: 200, Length: 0}},
		{"empty reason", "HTTP/1.1 200 \r\nContent-Length: 0 \t\r\n\r\n", Head{Status: 200, Length: 0}},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n", Head{Status: 200, Length: -1, Chunked: true}},
		{"until close", "HTTP/1.1 200 OK\r\n\r\n", Head{Status: 200, Length: -1, Close: true}},
		{"connection close", "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 1\r\n\r\n", Head{Status: 200, Length: 1, Close: true}},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", Head{Status: 200, Length: 1, Close: true}},
		{"HTTP/1.0 keep-alive", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n", Head{Status: 200, Length: 1}},
		{"gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\n", Head{Status: 200, Length: 1, Encoded: true}},
		{"identity", "HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 1\r\n\r\n", Head{Status: 200, Length: 1}},
		{"retry after", "HTTP/1.1 429 Slow\r\nRetry-After: 3\r\nContent-Length: 1\r\n\r\n", Head{Status: 429, Length: 1, RetryAfter: "3"}},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", Head{Status: 204, Length: 0}},
		{"interim", "HTTP/1.1 100 Continue\r\n\r\n", Head{Status: 100, Length: 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, n, err := scanHead([]byte(test.head + "body"))
			if err != nil || n != len(test.head) || got != test.want {
				t.Errorf("got %+v, %d bytes of %d, %v, want %+v", got, n, len(test.head), err, test.want)
			}
		})
	}
}

func TestContentType(t *testing.T) {
	for in, want := range map[string]string{
		"text/event-stream":                "text/event-stream",
		"Text/Event-Stream; charset=utf-8": "text/event-stream",
		"application/json ;x":              "application/json",
		strings.Repeat("x", 65):            "",
		"":                                 "",
	} {
		h, _, err := scanHead([]byte("HTTP/1.1 200 OK\r\nContent-Type: " + in + "\r\n\r\n"))
		if err != nil || !h.Is(want) {
			t.Errorf("%q is not %q: %v", in, want, err)
		}
	}
}

func TestHeadsThatAreRefused(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, head := range map[string]string{
		"not HTTP":                   "SSH-2.0-OpenSSH\r\n\r\n",
		"HTTP/2":                     "HTTP/2.0 200 OK\r\n\r\n",
		"lower case":                 "http/1.1 200 OK\r\n\r\n",
		"short status":               "HTTP/1.1 20 OK\r\n\r\n",
		"long status":                "HTTP/1.1 2000 OK\r\n\r\n",
		"status out of range":        "HTTP/1.1 600 OK\r\n\r\n",
		"status with sign":           "HTTP/1.1 +20 OK\r\n\r\n",
		"two spaces":                 "HTTP/1.1  200 OK\r\n\r\n",
		"empty line first":           "\r\nHTTP/1.1 200 OK\r\n\r\n",
		"bare line feed":             "HTTP/1.1 200 OK\nContent-Length: 1\r\n\r\n",
		"bare line feeds at the end": ok + "Content-Length: 1\r\n\n",
		"carriage return in a value": ok + "X: a\rContent-Length: 5\r\n\r\n",
		"zero in a value":            ok + "X: a\x00b\r\n\r\n",
		"folded line":                ok + "X: a\r\n b\r\n\r\n",
		"space before the colon":     ok + "Content-Length : 1\r\n\r\n",
		"no colon":                   ok + "Content-Length 1\r\n\r\n",
		"no name":                    ok + ": 1\r\n\r\n",
		"length and chunked":         ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"two lengths":                ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"the same length twice":      ok + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
		"list of lengths":            ok + "Content-Length: 1, 1\r\n\r\n",
		"negative length":            ok + "Content-Length: -1\r\n\r\n",
		"signed length":              ok + "Content-Length: +1\r\n\r\n",
		"hex length":                 ok + "Content-Length: 0x1\r\n\r\n",
		"empty length":               ok + "Content-Length:\r\n\r\n",
		"huge length":                ok + "Content-Length: 99999999999999999999\r\n\r\n",
		"two encodings":              ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
		"gzip, chunked":              ok + "Transfer-Encoding: gzip, chunked\r\n\r\n",
		"xchunked":                   ok + "Transfer-Encoding: xchunked\r\n\r\n",
		"identity encoding":          ok + "Transfer-Encoding: identity\r\n\r\n",
		"chunked in HTTP/1.0":        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"body of 204":                "HTTP/1.1 204 OK\r\nContent-Length: 1\r\n\r\n",
		"too many lines":             ok + strings.Repeat("X: y\r\n", headLinesMax+1) + "\r\n",
		"too many bytes":             ok + "X: " + strings.Repeat("y", headBytesMax) + "\r\n\r\n",
		"endless line":               ok + "X: " + strings.Repeat("y", headBytesMax+1),
	} {
		t.Run(name, func(t *testing.T) {
			if h, n, err := scanHead([]byte(head)); err == nil {
				t.Errorf("accepted as %+v, %d bytes", h, n)
			}
		})
	}
}

// FuzzResponseHead holds that whatever is accepted is understood by net/http in the same way.
func FuzzResponseHead(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nContent-Type: text/event-stream\r\n\r\n",
		"HTTP/1.1 429 Slow\r\nTransfer-Encoding: chunked\r\nRetry-After: 3\r\nConnection: close\r\n\r\n",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n",
		"HTTP/1.1 204 \r\nX: y\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s headScan
		n, err := s.end(b)
		if err != nil || n == 0 {
			return
		}
		h, err := parseHead(b[:n])
		if err != nil || h.Status < 200 {
			return
		}
		r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b[:n])), &http.Request{Method: "POST"})
		if err != nil {
			t.Fatalf("accepted %q, which net/http refuses: %v", b[:n], err)
		}
		defer r.Body.Close()
		if r.StatusCode != h.Status || r.ContentLength != h.Length && h.Status != 304 || (len(r.TransferEncoding) > 0) != h.Chunked {
			t.Fatalf("%q: got %+v, net/http has status %d, length %d, encoding %q", b[:n], h, r.StatusCode, r.ContentLength, r.TransferEncoding)
		}
	})
}
