package obs

import (
	"log/slog"
	"strconv"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// lineBytes is room for a usual line; longer ones grow.
const lineBytes = 768

// lineBytesKept bounds what a finished line leaves behind for the next.
const lineBytesKept = 8 << 10

// Canon writes the canonical lines of a busy process: one per call, always with the same message. They look exactly as those
// of [Lines.Logger], which a test holds it to, but cost no allocation and a fraction of the time. Everything rarer belongs to
// the logger. A nil Canon writes nothing. It is safe for concurrent use.
type Canon struct {
	lines   *Lines
	least   slog.Level
	json    bool
	message string
	pool    sync.Pool
}

// Canon returns a Canon for the level and format of [Logger].
func (l *Lines) Canon(level, format, message string) (*Canon, error) {
	least, err := parse(level, format)
	if err != nil {
		return nil, err
	}
	return &Canon{lines: l, least: least, json: format == formatJSON, message: message}, nil
}

// Line is a line that is being put together. It belongs to one goroutine, until End. All methods of a nil Line do nothing.
type Line struct {
	c     *Canon
	level slog.Level
	b     []byte
}

// Line begins a line, or returns nil if lines of the level are not wanted.
func (c *Canon) Line(now time.Time, level slog.Level) *Line {
	if c == nil || level < c.least {
		return nil
	}
	l, ok := c.pool.Get().(*Line)
	if !ok {
		l = &Line{c: c, b: make([]byte, 0, lineBytes)}
	}
	l.level = level
	if c.json {
		l.b = append(l.b[:0], `{"time":"`...)
		l.b = now.AppendFormat(l.b, time.RFC3339Nano)
		l.b = append(l.b, '"')
	} else {
		l.b = append(l.b[:0], "time="...)
		l.b = appendMillis(l.b, now)
	}
	l.String(slog.LevelKey, level.String())
	l.String(slog.MessageKey, c.message)
	return l
}

// String adds an attribute.
func (l *Line) String(key, value string) {
	if l == nil {
		return
	}
	l.key(key)
	switch {
	case plain(value, l.c.json):
		if l.c.json {
			l.b = append(l.b, '"')
			l.b = append(l.b, value...)
			l.b = append(l.b, '"')
		} else {
			l.b = append(l.b, value...)
		}
	case l.c.json:
		l.b = appendJSON(l.b, value)
	case quoted(value):
		l.b = strconv.AppendQuote(l.b, value)
	default:
		l.b = append(l.b, value...)
	}
}

// Int adds an attribute.
func (l *Line) Int(key string, value int64) {
	if l == nil {
		return
	}
	l.key(key)
	l.b = strconv.AppendInt(l.b, value, 10)
}

// Duration adds an attribute: nanoseconds in JSON, 1.5ms in text.
func (l *Line) Duration(key string, value time.Duration) {
	if l == nil {
		return
	}
	l.key(key)
	if l.c.json {
		l.b = strconv.AppendInt(l.b, int64(value), 10)
	} else {
		l.b = appendDuration(l.b, value)
	}
}

// End hands the line over. It must not be used afterwards.
func (l *Line) End() {
	if l == nil {
		return
	}
	if l.c.json {
		l.b = append(l.b, '}')
	}
	l.b = append(l.b, '\n')
	_, _ = l.c.lines.Write(l.b) // there is nowhere to say that it failed
	if l.level >= slog.LevelWarn {
		_ = l.c.lines.Flush()
	}
	if cap(l.b) <= lineBytesKept {
		l.c.pool.Put(l)
	}
}

// key begins an attribute. Keys are constants that need no quoting.
func (l *Line) key(key string) {
	if l.c.json {
		l.b = append(l.b, `,"`...)
		l.b = append(l.b, key...)
		l.b = append(l.b, `":`...)
		return
	}
	l.b = append(l.b, ' ')
	l.b = append(l.b, key...)
	l.b = append(l.b, '=')
}

// plain reports whether a value needs neither quotes in text nor escapes in JSON: the usual case.
func plain(s string, json bool) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '=' {
			return false
		}
	}
	return json || s != ""
}

// quoted reports whether slog's text format quotes a value.
func quoted(s string) bool {
	for _, r := range s {
		if r == ' ' || r == '=' || r == '"' || r < ' ' || r == utf8.RuneError {
			return true
		}
		if r >= utf8.RuneSelf && (unicode.IsSpace(r) || !unicode.IsPrint(r)) {
			return true
		}
	}
	return s == ""
}

// appendJSON appends a string as slog's JSON format does: the escapes of encoding/json without those for HTML, and control
// characters other than tab, line feed and carriage return by number.
func appendJSON(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', s[i])
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r < ' ':
			b = append(b, `\u00`...)
			b = append(b, hex[r>>4], hex[r&15])
		case r == utf8.RuneError && size == 1:
			b = append(b, `\ufffd`...)
		case r == '\u2028' || r == '\u2029': // line ends of JavaScript
			b = append(b, `\u202`...)
			b = append(b, hex[r&15])
		default:
			b = append(b, s[i:i+size]...)
		}
		i += size
	}
	return append(b, '"')
}

// appendMillis appends a time with exactly three digits of the second, the way slog's text format does: through the layout
// that package time is quick at, which drops zeros at the end, so that a fourth digit is added and taken away.
func appendMillis(b []byte, t time.Time) []byte {
	end := len(b) + len("2006-01-02T15:04:05.000")
	b = t.Truncate(time.Millisecond).Add(time.Millisecond/10).AppendFormat(b, time.RFC3339Nano)
	return append(b[:end], b[end+1:]...)
}

// appendDuration appends d.String() without allocating.
func appendDuration(b []byte, d time.Duration) []byte {
	if d < 0 || d >= time.Minute || d < time.Microsecond { // rare ones
		return append(b, d.String()...)
	}
	unit, scale, suffix := int64(d), int64(time.Microsecond), "µs"
	switch {
	case d >= time.Second:
		scale, suffix = int64(time.Second), "s"
	case d >= time.Millisecond:
		scale, suffix = int64(time.Millisecond), "ms"
	}
	b = strconv.AppendInt(b, unit/scale, 10)
	if rest := unit % scale; rest > 0 {
		b = append(b, '.')
		for ; rest > 0; rest = rest * 10 % scale {
			b = append(b, byte('0'+rest*10/scale))
		}
	}
	return append(b, suffix...)
}
