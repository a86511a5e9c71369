package counter

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Shown is a counter as people read it.
type Shown struct {
	Event, Label string
	Value        int64
	Text         string // the value with separators: "1,200"
}

// Formatted returns the counters, largest first, of equal ones by name.
func (s State) Formatted() []Shown {
	names := slices.SortedFunc(maps.Keys(s.Events), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Events[b], s.Events[a]), cmp.Compare(a, b))
	})
	shown := make([]Shown, len(names))
	for i, name := range names {
		shown[i] = Shown{name, Label(name), s.Events[name], Number(s.Events[name])}
	}
	return shown
}

// Number writes a count with a comma between thousands.
func Number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Measures of a badge in pixels. Fonts differ, so textLength makes the text fit the width that is reckoned here.
const (
	badgeHeight = 20
	badgePerRun = 7 // width of a character
	badgePad    = 6
)

// Badge draws a label and a value as an SVG image. Both may be any text; what XML cannot hold is replaced. It has no
// style sheet, script or link, so that it shows under any policy.
func Badge(label, value string) []byte {
	left := badgePerRun * utf8.RuneCountInString(label)
	right := badgePerRun * utf8.RuneCountInString(value)
	middle, width := left+2*badgePad, left+right+4*badgePad
	label, value = escaped(label), escaped(value)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" role="img" aria-label="%[3]s: %[4]s">`+
		`<title>%[3]s: %[4]s</title>`+
		`<rect width="%[1]d" height="%[2]d" rx="3" fill="#1f6feb"/>`+
		`<path d="M3 0h%[5]dv%[2]dH3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#444"/>`+
		`<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">`,
		width, badgeHeight, label, value, middle-3)
	fmt.Fprintf(&b, `<text x="%d" y="14" textLength="%d">%s</text>`, middle/2, left, label)
	fmt.Fprintf(&b, `<text x="%d" y="14" textLength="%d">%s</text></g></svg>`, middle+(width-middle)/2, right, value)
	return b.Bytes()
}

func escaped(text string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		panic("BUG: counter: a buffer that does not take text: " + err.Error())
	}
	return b.String()
}
