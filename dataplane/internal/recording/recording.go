package recording

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
)

// Recording is audio on its way from a client.
type Recording struct {
	source source
	body   body
	fields any
	max    int64
	size   int64
	first  []byte // read ahead of the caller
	format string
	err    error // what Read goes on returning
}

// body is one of the two forms of a recording.
type body interface {
	// open reads up to the audio and reports whether there is any.
	open() (bool, error)
	// Read reads audio; io.EOF is its end.
	io.Reader
	// finish reads what stands behind the audio.
	finish() error
	// bind fills the struct that dst points to.
	bind(dst any) error
	// filename is what the client calls the audio, as far as that is known by now.
	filename() string
}

// Options say what is expected.
type Options struct {
	Type   string // content type of the body
	Length int64  // of the body in bytes, -1 if the client did not say
	Max    int64  // bytes of audio
	NoForm bool   // JSON alone is taken
	// Fields points to a struct that is filled as package bind does when the whole body was read. It describes the JSON form. Its
	// field audio_base64, which must be required, is filled with a placeholder.
	Fields any
}

// Open reads a body up to the first bytes of the audio. The errors are answers.
func Open(r io.Reader, o Options) (*Recording, error) {
	rec := &Recording{source: source{r: r, room: fieldsBytesMax}, fields: o.Fields, max: o.Max}
	mediaType, params, err := mime.ParseMediaType(o.Type)
	switch {
	case err == nil && mediaType == "multipart/form-data" && params["boundary"] != "" && !o.NoForm:
		if o.Length > o.Max+fieldsBytesMax {
			return nil, tooLarge(o.Max)
		}
		rec.body = newForm(&rec.source, params["boundary"])
	case err == nil && mediaType == "application/json":
		if o.Length > 2*o.Max+fieldsBytesMax { // escapes can make base64 longer, but nobody writes that many
			return nil, tooLarge(o.Max)
		}
		rec.body = newObject(&rec.source)
	default:
		return nil, wrongType(&o)
	}
	found, err := rec.body.open()
	if err != nil {
		return nil, rec.source.answer(err)
	}
	if !found {
		if err := rec.body.bind(o.Fields); err != nil {
			return nil, err
		}
		panic("BUG: recording: a body without audio is not refused")
	}
	return rec, rec.look()
}

// look reads the first bytes of the audio.
func (r *Recording) look() error {
	first := make([]byte, firstBytes)
	n, err := io.ReadFull(reader(r.read), first)
	r.first, r.format = first[:n], formatOf(first[:n])
	ended := r.err == io.EOF //nolint:errorlint // an error that wraps it is none
	switch {
	case ended && n == 0:
		return empty(r.body)
	case ended || err == nil:
		return nil
	}
	return r.err
}

// Read reads audio. When it returns io.EOF the whole body was read and the fields are filled. The errors are answers.
func (r *Recording) Read(p []byte) (int, error) {
	if len(r.first) > 0 {
		n := copy(p, r.first)
		r.first = r.first[n:]
		return n, nil
	}
	return r.read(p)
}

func (r *Recording) read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.body.Read(p)
	r.size += int64(n)
	switch {
	case r.size > r.max:
		err = tooLarge(r.max)
	case errors.Is(err, io.EOF):
		if err = r.end(); err == nil {
			err = io.EOF
		}
	case err != nil:
		err = r.source.answer(err)
	}
	r.err = err
	return n, err
}

func (r *Recording) end() error {
	if err := r.body.finish(); err != nil {
		return r.source.answer(err)
	}
	return r.body.bind(r.fields)
}

// Size returns the bytes of audio that were read.
func (r *Recording) Size() int64 { return r.size }

// Format returns the name of the audio's format, which is also the usual ending of its files: "wav", "mp3", "flac", "ogg",
// "webm" or "m4a" by the first bytes, else the ending of the client's file name if that is known by now and plain, else "".
func (r *Recording) Format() string {
	if r.format != "" {
		return r.format
	}
	return ending(r.body.filename())
}

// reader makes a reader of a method.
type reader func(p []byte) (int, error)

func (f reader) Read(p []byte) (int, error) { return f(p) }

// source is the body as it comes. Beside the audio only so much of it is read.
type source struct {
	r    io.Reader
	room int  // bytes that may still be read outside the audio
	free bool // audio is being read
	err  error
}

var errRoom = apierr.New(apierr.TooLarge, fmt.Sprintf("What the body has beside the audio is larger than %d bytes.", fieldsBytesMax))

func (s *source) Read(p []byte) (int, error) {
	if ended := s.err == io.EOF; ended { //nolint:errorlint // an error that wraps it is none
		return 0, io.EOF
	}
	if s.err == nil && !s.free && s.room <= 0 {
		s.err = errRoom
	}
	if s.err != nil {
		return 0, errSource
	}
	if !s.free {
		p = p[:min(len(p), s.room)]
	}
	n, err := s.r.Read(p)
	if !s.free {
		s.room -= n
	}
	if err == nil {
		return n, nil
	}
	s.err = err
	if ended := err == io.EOF; ended {
		return n, io.EOF
	}
	return n, errSource // parsers must not take an error that wraps io.EOF for the end
}

var errSource = errors.New("the body failed")

var errBroken = apierr.New(apierr.BadRequest, "The body broke off before its end.")

// answer makes an answer of an error, most of which come from the source and were passed on by a parser.
func (s *source) answer(err error) error {
	if ended := s.err == io.EOF; s.err != nil && !ended { //nolint:errorlint // an error that wraps it is none
		err = s.err
	}
	if _, ok := errors.AsType[*apierr.Error](err); ok {
		return err
	}
	return errBroken.Because(err)
}

func tooLarge(bytesMax int64) error {
	return apierr.New(apierr.TooLarge, fmt.Sprintf("The audio is larger than %d bytes.", bytesMax))
}

func wrongType(o *Options) error {
	what := "application/json with the audio in audio_base64"
	if !o.NoForm {
		what = "multipart/form-data with the audio as the file field audio, or " + what
	}
	return violation(nil, "send "+what, o.Type)
}

func empty(b body) error {
	at := []any{"audio_base64"}
	if _, ok := b.(*form); ok {
		at = []any{"audio"}
	}
	return violation(at, "the audio is empty", "")
}

const echoMax = 60 // characters of input that a violation shows

// violation is a 422 for the value at the given place of the body.
func violation(at []any, what, input string) error {
	return apierr.Violations(apierr.Item{
		Type: "value_error", Loc: slices.Concat([]any{"body"}, at), Msg: "Value error, " + what, Input: input[:min(len(input), echoMax)],
		Ctx: map[string]any{"error": what},
	})
}

// bindFields fills dst from the fields of a form.
func bindFields(values map[string]any, dst any) error {
	if err := bind.Value(values, []any{"body"}, dst); err != nil {
		return fmt.Errorf("bind fields: %w", err)
	}
	return nil
}
