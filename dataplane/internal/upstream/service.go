package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"modelgate.internal/dataplane/internal/upstream/transport"
	"modelgate.internal/shared/plane"
)

// Service is an upstream that is asked for something other than a chat: one HTTP exchange, JSON or a file either way. What is
// sent and what an answer means is for the dialect that uses it. It may be used by many goroutines.
type Service struct {
	server
	// Spec is what the service was made of.
	Spec  plane.UpstreamSpec
	head  string                     // the fields that all requests share
	tasks map[string]plane.InferTask // of the dialect kserve

	unverbose atomic.Bool // it refuses to divide transcripts into segments
}

// NewService returns the service for spec, which speaks any dialect but chat. The credential is sent as a bearer token unless
// it is empty. The error says what is wrong with the spec; it repeats neither credential nor address.
func NewService(spec plane.UpstreamSpec, credential string, o Options) (*Service, error) {
	if spec.Dialect == plane.DialectChat || !slices.Contains(plane.Dialects(), spec.Dialect) {
		return nil, fmt.Errorf("upstream %q: no service speaks the dialect %q", spec.ID, spec.Dialect)
	}
	s, err := prepare(spec, credential, o)
	if err != nil {
		return nil, err
	}
	var tasks map[string]plane.InferTask
	if spec.Dialect == plane.DialectInfer {
		if tasks, err = plane.ParseInfer(spec.Infer); err != nil {
			return nil, fmt.Errorf("upstream %q: infer: %w", spec.ID, err)
		}
	}
	head := "Host: " + s.base.host + "\r\n"
	if credential != "" {
		head += "Authorization: Bearer " + credential + "\r\n"
	}
	return &Service{server: s, Spec: spec, tasks: tasks, head: head + "User-Agent: modelgate\r\nAccept-Encoding: identity\r\n"}, nil
}

// Exchange is a request to a service.
type Exchange struct {
	Method string // "" is POST
	Path   string // behind the base URL: escaped, with a leading slash and perhaps a query; "" is the base URL itself
	Type   string // of the body; "" is application/json
	Body   []byte
	// Accept is the media type that the answer must have, in lower case; "" takes any.
	Accept string
	// Account is whose data the call may touch, sent as X-Account-Id; "" sends none.
	Account string
	// BytesMax bounds the answer; 0 is 8 MiB.
	BytesMax int
	// Time bounds the exchange where the upstream's own deadlines do not bound it tighter; 0 does not.
	Time time.Duration
	// Refused are the statuses that mean something else in this dialect than elsewhere, with what to say about the upstream:
	// 403, "does not answer in JSON. ..."
	Refused map[int]string
}

// Reply is the answer of a service.
type Reply struct {
	Body []byte // its own storage
	Type string // media type, in lower case and without parameters
}

// Do asks for a whole answer. The errors are *apierr.Error like those of [Upstream]; a status other than 200 is one.
func (s *Service) Do(ctx context.Context, x *Exchange) (Reply, error) {
	began := s.begin()
	reply, err := s.do(ctx, x)
	if err != nil {
		f := s.broken(ctx, err)
		s.end(began, f.result)
		return Reply{}, f.classed()
	}
	s.end(began, ResultDone)
	return reply, nil
}

func (s *Service) do(ctx context.Context, x *Exchange) (Reply, error) {
	limit := s.limit(x)
	conn, err := s.host.Exchange(ctx, s.request(x), transport.Times{Connect: min(s.timeouts.Connect, limit), Head: limit})
	if err != nil {
		return Reply{}, s.lateWhole(err, limit)
	}
	defer conn.Finish()
	return s.reply(conn, x, limit)
}

// reply reads an answer whose head is there.
func (s *Service) reply(conn *transport.Conn, x *Exchange, limit time.Duration) (Reply, error) {
	if f := s.unacceptable(conn, x); f != nil {
		return Reply{}, f
	}
	for {
		body, err := conn.Next()
		if len(body) > x.bytesMax() {
			return Reply{}, s.overlong(x.bytesMax(), "Ask for less.")
		}
		if errors.Is(err, io.EOF) {
			return Reply{Body: slices.Clone(body), Type: conn.Head.MediaType()}, nil
		}
		if err != nil {
			return Reply{}, s.lateWhole(err, limit)
		}
	}
}

// limit returns how long the whole answer may take.
func (s *Service) limit(x *Exchange) time.Duration {
	limit := min(s.timeouts.Answer, s.timeouts.Total)
	if x.Time > 0 {
		limit = min(limit, x.Time)
	}
	return limit
}

func (x *Exchange) bytesMax() int { return cmp.Or(x.BytesMax, answerBytesMax) }

// unacceptable says why the head of an answer is not that of a good one, or nil.
func (s *Service) unacceptable(conn *transport.Conn, x *Exchange) *fault {
	if status := conn.Head.Status; status != 200 {
		f := s.refusal(conn)
		if meaning, ok := x.Refused[status]; ok {
			f.answer.Detail = "Upstream " + s.id + " " + meaning
		}
		return f
	}
	return s.unreadable(conn, x.Accept)
}

// request puts an exchange into the bytes that are sent.
func (s *Service) request(x *Exchange) [][]byte {
	method, mediaType := x.Method, x.Type
	if method == "" {
		method = "POST"
	}
	if mediaType == "" {
		mediaType = "application/json"
	}
	head := method + " " + s.base.path + x.Path + " HTTP/1.1\r\n" + s.head
	if x.Accept != "" {
		head += "Accept: " + x.Accept + "\r\n"
	}
	if x.Account != "" {
		head += "X-Account-Id: " + x.Account + "\r\n"
	}
	if method == "GET" {
		return [][]byte{[]byte(head + "\r\n")}
	}
	head += "Content-Type: " + mediaType + "\r\nContent-Length: " + strconv.Itoa(len(x.Body)) + "\r\n\r\n"
	return [][]byte{[]byte(head), x.Body}
}

// Invalid is the 502 of an answer that the dialect does not allow; what says what is wrong with it, "has no text".
func (s *Service) Invalid(what string) error { return s.wrong(what).classed() }

func (s *server) wrong(what string) *fault {
	return s.bad(ResultInvalid, "sent an answer that %s. This is for the gateway's operator to fix.", what)
}
