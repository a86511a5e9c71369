package upstream

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"
)

// Search is a query to a search server.
type Search struct {
	Query    string
	Language string // code, "en"
	News     bool   // among news rather than everywhere
	Recent   bool   // of the last month
}

// Found is a page that a search found. Title and Snippet are plain text.
type Found struct {
	URL       string // http or https
	Title     string
	Snippet   string
	Published time.Time // zero if not said
}

// Search asks a search server. It speaks the JSON API of SearXNG, which has to be switched on there (search.formats);
// https://docs.searxng.org/dev/search_api.html. That nothing was found is an error if engines did not answer.
func (s *Service) Search(ctx context.Context, q Search) ([]Found, error) {
	reply, err := s.Do(ctx, &Exchange{
		Method: "GET", Path: "/search?" + q.parameters().Encode(), Accept: "application/json", BytesMax: searchBytesMax, Time: searchTime,
		Refused: map[int]string{
			403: "refused to answer in JSON. This is for the gateway's operator to fix: add json to search.formats in SearXNG's settings.yml.",
		},
	})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Results *[]struct {
			URL       string  `json:"url"`
			Title     string  `json:"title"`
			Content   string  `json:"content"`
			Published *string `json:"publishedDate"`
		} `json:"results"`
		Unresponsive []any `json:"unresponsive_engines"`
	}
	if json.Unmarshal(reply.Body, &answer) != nil || answer.Results == nil {
		return nil, s.Invalid("is not what SearXNG answers")
	}
	var list []Found
	for _, r := range *answer.Results {
		if u, err := url.Parse(r.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		f := Found{URL: r.URL, Title: line(r.Title), Snippet: line(r.Content)}
		if r.Published != nil {
			f.Published, _ = time.Parse("2006-01-02", (*r.Published)[:min(len(*r.Published), len("2006-01-02"))]) // zero if it is no date
		}
		list = append(list, f)
	}
	if len(list) == 0 && len(answer.Unresponsive) > 0 {
		return nil, s.bad(ResultRefused, "found nothing because its search engines did not answer. Try again later.").classed()
	}
	return list, nil
}

func (q *Search) parameters() url.Values {
	p := url.Values{"q": {q.Query}, "format": {"json"}, "language": {q.Language}, "safesearch": {"1"}}
	if q.News {
		p.Set("categories", "news")
	}
	if q.Recent {
		p.Set("time_range", "month")
	}
	return p
}

// line puts text on one line.
func line(text string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
}
