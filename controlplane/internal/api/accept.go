package api

import (
	"mime"
	"strconv"
	"strings"
)

// prefer returns the one of the offered media types that an Accept header (RFC 9110, 12.5.1) wants most; of equals the
// first offered. Without a header, or when it wants none of them, that is the first.
func prefer(accept string, offered ...string) string {
	best, bestQ := offered[0], 0.0
	for _, offer := range offered {
		if q := quality(accept, offer); q > bestQ {
			best, bestQ = offer, q
		}
	}
	return best
}

// quality is how much a header wants a media type: the weight of the most specific range that fits it.
func quality(accept, offer string) float64 {
	kind, _, _ := strings.Cut(offer, "/")
	q, specific := 0.0, 0
	for part := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err != nil {
			continue
		}
		level := 0
		switch media {
		case offer:
			level = 3
		case kind + "/*":
			level = 2
		case "*/*":
			level = 1
		}
		if level <= specific {
			continue
		}
		specific, q = level, 1
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				q = 0
			}
		}
	}
	return q
}
