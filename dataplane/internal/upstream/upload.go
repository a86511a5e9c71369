package upstream

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"modelgate.internal/dataplane/internal/upstream/transport"
	"modelgate.internal/shared/apierr"
)

// Upload is a request to a service whose body comes in while it is sent.
type Upload struct {
	Path string // as in Exchange
	Type string // of the body
	// Body is read when there is a connection, and not beyond an answer that comes early. Its errors must be *apierr.Error.
	Body   io.Reader
	Accept string // as in Exchange
	// Account is whose data the call may touch, sent as X-Account-Id; "" sends none.
	Account string
}

// UploadError is the error of an upload whose body was read, in part at least, so that it cannot be made again.
type UploadError struct {
	// Source says that the body was at fault and the upstream was not.
	Source bool
	Err    error
}

// Error returns the text of the cause.
func (e *UploadError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UploadError) Unwrap() error { return e.Err }

// Upload asks for a whole answer like Do, on a connection of its own. Once the body was touched, errors are *UploadError around
// the *apierr.Error; those of the body are passed on as they are. Besides the whole call, every piece of the body has a
// deadline: the one for the head of a stream.
func (s *Service) Upload(ctx context.Context, u *Upload) (Reply, error) {
	began := s.begin()
	body := &touched{r: u.Body}
	reply, err := s.upload(ctx, u, body)
	if err == nil {
		s.end(began, ResultDone)
		return reply, nil
	}
	source, ok := errors.AsType[*transport.SourceError](err)
	if ok && ctx.Err() == nil {
		s.end(began, ResultCancelled)
		return Reply{}, &UploadError{Source: true, Err: source.Err}
	}
	f := s.broken(ctx, err)
	s.aboutAudio(f)
	s.end(began, f.result)
	if body.yes {
		return Reply{}, &UploadError{Err: f.classed()}
	}
	return Reply{}, f.classed()
}

// aboutAudio gives refusals words for recordings: uploads are nothing else.
func (s *Service) aboutAudio(f *fault) {
	switch {
	case f.result != ResultRefused:
	case f.answer.Kind == apierr.TooLarge:
		f.answer.Detail = "The recording is larger than upstream " + s.id + " accepts. Send a shorter one."
	case f.answer.Kind == apierr.BadRequest && strings.HasSuffix(f.answer.Detail, s.hint()):
		f.answer.Detail = "Upstream " + s.id + " refused the recording without saying why. Check that it is audio of a usual format."
	}
}

func (s *Service) upload(ctx context.Context, u *Upload, body io.Reader) (Reply, error) {
	limit := min(s.timeouts.Answer, s.timeouts.Total)
	conn, err := s.host.Upload(ctx, s.uploadHead(u), body, transport.UploadTimes{
		Connect: s.timeouts.Connect, Stall: s.timeouts.Head, Head: limit, Total: s.timeouts.Total,
	})
	if err != nil {
		return Reply{}, s.lateWhole(err, limit)
	}
	defer conn.Finish()
	conn.SetDeadline(time.Now().Add(limit))
	return s.reply(conn, &Exchange{Accept: u.Accept}, limit)
}

// uploadHead returns the head without what tells the length.
func (s *Service) uploadHead(u *Upload) []byte {
	head := "POST " + s.base.path + u.Path + " HTTP/1.1\r\n" + s.head + "Accept: " + u.Accept + "\r\nContent-Type: " + u.Type + "\r\n"
	if u.Account != "" {
		head += "X-Account-Id: " + u.Account + "\r\n"
	}
	return []byte(head)
}

// touched notes whether a reader was used.
type touched struct {
	r   io.Reader
	yes bool
}

func (t *touched) Read(p []byte) (int, error) {
	t.yes = true
	return t.r.Read(p) //nolint:wrapcheck // io.EOF must stay what it is
}
