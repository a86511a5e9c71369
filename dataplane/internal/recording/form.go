package recording

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"strings"

	"modelgate.internal/shared/apierr"
)

// form is a multipart body.
type form struct {
	source *source
	parts  *multipart.Reader
	audio  *multipart.Part // nil until it was found
	name   string          // of the file
	values map[string]any
	count  int
}

func newForm(s *source, boundary string) *form {
	// mime/multipart takes an end inside the head of a part for the end of the form, so the end of the body is another error for
	// it, behind a line end that the last boundary may lack.
	whole := io.MultiReader(s, strings.NewReader("\r\n"), reader(func([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }))
	return &form{source: s, parts: multipart.NewReader(whole, boundary), values: map[string]any{}}
}

func (f *form) open() (bool, error) {
	err := f.next()
	return f.audio != nil, err
}

// next reads fields up to the audio or the end.
func (f *form) next() error {
	for {
		part, err := f.parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return malformed(err)
		}
		if f.count++; f.count > partsMax {
			return violation(nil, fmt.Sprintf("the form has more than %d parts", partsMax), "")
		}
		if part.FormName() != "audio" {
			if err := f.field(part); err != nil {
				return err
			}
			continue
		}
		if f.audio != nil {
			return violation([]any{"audio"}, "the form has the field twice", "")
		}
		f.audio, f.name, f.source.free = part, part.FileName(), true
		return nil
	}
}

// field keeps the value of a field; of a repeated one the last counts.
func (f *form) field(part *multipart.Part) error {
	value, err := io.ReadAll(part)
	if err != nil {
		return malformed(err)
	}
	if name := part.FormName(); name != "" {
		f.values[name] = string(value)
	}
	return nil
}

// Read implements body.
func (f *form) Read(p []byte) (int, error) {
	n, err := f.audio.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = malformed(err)
	}
	return n, err //nolint:wrapcheck // io.EOF must stay what it is
}

func (f *form) finish() error {
	f.source.free = false
	if err := f.next(); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, f.source) // what stands behind the last boundary means nothing
	return err                              //nolint:wrapcheck // the source's errors are answers
}

func (f *form) bind(dst any) error {
	if f.audio == nil {
		items := []apierr.Item{{Type: "missing", Loc: []any{"body", "audio"}, Msg: "Field required"}}
		f.values["audio_base64"] = placeholder
		if err := bindFields(f.values, dst); err != nil {
			items = append(items, apierr.From(err).Items...)
		}
		return apierr.Violations(items...)
	}
	f.values["audio_base64"] = placeholder
	return bindFields(f.values, dst)
}

func (f *form) filename() string { return f.name }

// placeholder stands for the audio where the fields are bound.
const placeholder = "audio"

// malformed is what is wrong with a form.
func malformed(err error) error {
	what := "the body is not a form: "
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return violation(nil, what+"it ends before its last boundary", "")
	}
	return apierr.From(violation(nil, what+"a part's head cannot be read", "")).Because(err)
}
