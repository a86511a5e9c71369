package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"

	"modelgate.internal/shared/apierr"
)

var (
	errCoding = apierr.New(apierr.UnsupportedCoding, "The Content-Encoding of the body is not read here. Send it as it is, or with gzip, once.")
	errGzip   = apierr.New(apierr.BadRequest, "The body is not valid gzip, though its Content-Encoding says so.")
)

// decoded returns a body without its content coding, of at most max bytes.
func decoded(fields [][]byte, body io.Reader, max int64) (io.Reader, error) {
	var coding []byte
	for _, field := range fields {
		for item := range bytes.SplitSeq(field, []byte(",")) {
			item = bytes.TrimSpace(item)
			if len(item) == 0 || bytes.EqualFold(item, []byte("identity")) {
				continue
			}
			if coding != nil {
				return nil, errCoding
			}
			coding = item
		}
	}
	switch {
	case coding == nil:
		return body, nil
	case bytes.EqualFold(coding, []byte("gzip")), bytes.EqualFold(coding, []byte("x-gzip")):
		return &gunzip{from: &source{r: body}, left: max, max: max}, nil
	}
	return nil, errCoding
}

// gunzip reads what is compressed with gzip. What it gives out is bounded, however little that was.
type gunzip struct {
	from      *source
	r         *gzip.Reader // made when it is read first: that waits for the body
	left, max int64        // bytes
	err       error        // final
}

// Read implements io.Reader. Its errors are answers.
func (g *gunzip) Read(p []byte) (n int, err error) {
	if g.err != nil {
		return 0, g.err
	}
	if g.r == nil {
		g.r, err = gzip.NewReader(g.from)
	}
	if err == nil {
		n, err = g.r.Read(p)
	}
	if g.left -= int64(n); g.left < 0 {
		n, g.err = 0, apierr.New(apierr.TooLarge, fmt.Sprintf("The body is larger than %d bytes when it is unpacked.", g.max))
		return n, g.err
	}
	switch {
	case g.from.failed != nil: // the answer is there
		g.err = g.from.failed
	case err == nil, errors.Is(err, io.EOF): // also of nothing
		g.err = err
	default:
		g.err = errGzip.Because(err)
	}
	return n, g.err
}

// source remembers why a body cannot be read: the reader of gzip would wrap that or take it for an end.
type source struct {
	r      io.Reader
	failed error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return n, err
}
