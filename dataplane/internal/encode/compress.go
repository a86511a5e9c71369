package encode

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"
)

// Compressor makes whole answers smaller for clients that accept it. Streams are not for it: an encoder that is flushed with
// every event saves nothing and holds a hundred times the memory of the stream.
type Compressor struct {
	zstd *zstd.Encoder // encodes as many answers at a time as there are processors; others wait
	gzip sync.Pool     // of *gzip.Writer
}

// NewCompressor returns a compressor.
func NewCompressor() (*Compressor, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(zstdWindowBytes))
	if err != nil {
		return nil, fmt.Errorf("make a zstd encoder: %w", err)
	}
	return &Compressor{zstd: z, gzip: sync.Pool{New: func() any {
		g, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		if err != nil {
			panic("BUG: encode: " + err.Error())
		}
		return g
	}}}, nil
}

// Compress encodes the body of an answer by what the request accepts. Small bodies stay as they are.
func (c *Compressor) Compress(res *fasthttp.Response, req *fasthttp.RequestHeader) {
	body := res.Body()
	if len(body) < compressBytesMin {
		return
	}
	res.Header.Add("Vary", "Accept-Encoding")
	switch coding := negotiate(req.PeekAll("Accept-Encoding")); coding {
	case "zstd":
		res.SetBodyRaw(c.zstd.EncodeAll(body, make([]byte, 0, len(body)/2)))
		res.Header.Set("Content-Encoding", coding)
	case "gzip":
		g, _ := c.gzip.Get().(*gzip.Writer)
		defer c.gzip.Put(g)
		var packed bytes.Buffer
		packed.Grow(len(body) / 2)
		g.Reset(&packed)
		_, err := g.Write(body)
		if err == nil {
			err = g.Close()
		}
		if err != nil {
			panic("BUG: encode: a buffer cannot be written to: " + err.Error())
		}
		res.SetBodyRaw(packed.Bytes())
		res.Header.Set("Content-Encoding", coding)
	}
}

// negotiate chooses zstd, gzip or nothing, by the weights of RFC 9110, section 12.5.3. Among equals zstd comes first, and
// nothing last unless it is asked for. A weight that is none counts as 0.
func negotiate(fields [][]byte) string {
	const unsaid = -1.0
	zstd, gzip, identity, rest := unsaid, unsaid, unsaid, unsaid
	for _, field := range fields {
		for item := range bytes.SplitSeq(field, []byte(",")) {
			name, parameters, _ := bytes.Cut(item, []byte(";"))
			weight := weightOf(parameters)
			switch name = bytes.TrimSpace(name); {
			case bytes.EqualFold(name, []byte("zstd")):
				zstd = weight
			case bytes.EqualFold(name, []byte("gzip")):
				gzip = weight
			case bytes.EqualFold(name, []byte("identity")):
				identity = weight
			case string(name) == "*":
				rest = weight
			}
		}
	}
	if zstd == unsaid {
		zstd = rest
	}
	if gzip == unsaid {
		gzip = rest
	}
	switch best := max(zstd, gzip); {
	case best <= 0 || identity > best:
		return ""
	case zstd == best:
		return "zstd"
	}
	return "gzip"
}

// weightOf reads ";q=0.5", 1 if there is none.
func weightOf(parameters []byte) float64 {
	parameters = bytes.TrimSpace(parameters)
	if len(parameters) == 0 {
		return 1
	}
	name, value, _ := bytes.Cut(parameters, []byte("="))
	q, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
	if !bytes.EqualFold(bytes.TrimSpace(name), []byte("q")) || err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}
