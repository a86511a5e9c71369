package mockmodel

import (
	"fmt"
	"net/http"
	"net/url"
)

const simulatedResults = 4 // of a search

// search answers GET /searxng/search with pages that do not exist.
func (s *Server) search(r *http.Request, _ []byte) said {
	q := r.URL.Query()
	if q.Get("format") != "json" {
		return said{status: http.StatusForbidden, answer: map[string]string{"error": "this simulator answers format=json only"}}
	}
	var results []map[string]any
	for i := range simulatedResults {
		results = append(results, map[string]any{
			"url":     fmt.Sprintf("https://page%d.simulated.example/%s", i+1, url.PathEscape(q.Get("q"))),
			"title":   fmt.Sprintf("[simulated] Page %d", i+1),
			"content": fmt.Sprintf("[simulated] What page %d says about %s.", i+1, q.Get("q")),
			"engine":  "simulator", "score": 1.0 / float64(i+1),
		})
	}
	return said{words: q.Get("q"), answer: map[string]any{
		"query": q.Get("q"), "number_of_results": len(results), "results": results, "unresponsive_engines": []any{},
	}}
}
