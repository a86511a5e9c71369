package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/languages"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/wire"
)

// TranslateLanguages answers GET /api/v1/translate/languages.
func (a *API) TranslateLanguages(c *call.Call) (call.Answer, error) {
	t, err := translatorFor(c)
	if err != nil {
		return call.Answer{}, err
	}
	return a.languageList(c, t)
}

// PublicTranslateLanguages answers GET /api/translate/languages, which needs no key.
func (a *API) PublicTranslateLanguages(c *call.Call) (call.Answer, error) {
	t, err := publicTranslator(c)
	if err != nil {
		return call.Answer{}, err
	}
	return a.languageList(c, t)
}

// languageList answers with every language that has a name, and those of the server that have a code only the server knows.
func (a *API) languageList(c *call.Call, t translator) (call.Answer, error) {
	list := wire.LanguageList{}
	for _, l := range languages.All() {
		list.Languages = append(list.Languages, wire.Language{Code: l.Code, Name: l.Name, Targets: []string{}})
	}
	if t.via == viaChat {
		c.Facts.Backend = route.Backend(c.Config, t.target.Model)
		for i := range list.Languages {
			list.Languages[i].Available, list.Languages[i].Via = true, &t.via
		}
	} else {
		known, err := a.languagesOf(c, t)
		if err != nil {
			return call.Answer{}, err
		}
		list.Languages = offered(list.Languages, known)
	}
	list.Count = len(list.Languages)
	return encode(list)
}

// offered marks the languages that a server knows in a list, which is in the order of the codes, and adds those it lacks.
func offered(list []wire.Language, known []upstream.Language) []wire.Language {
	via := viaServer
	for _, l := range known {
		entry := wire.Language{Code: l.Code, Name: cmp.Or(l.Name, l.Code), Available: true, Via: &via, Targets: l.Targets}
		if name, ok := languages.Name(l.Code); ok {
			entry.Name = name
		}
		if entry.Targets == nil {
			entry.Targets = []string{}
		}
		i, found := slices.BinarySearchFunc(list, l.Code, func(have wire.Language, code string) int { return cmp.Compare(have.Code, code) })
		if found {
			list[i] = entry
		} else {
			list = slices.Insert(list, i, entry)
		}
	}
	return list
}

// pair returns the codes of two languages as the translator knows them, or a 422 with the address of the list.
func (a *API) pair(c *call.Call, t translator, source, target string) (from, to string, err error) {
	unknown := func(field, code, what string) error {
		return violation(fmt.Sprintf("%s; GET %s lists the languages", what, t.languages), code, field)
	}
	if t.via == viaChat {
		if _, ok := languages.Name(source); !ok && source != upstream.Auto {
			return "", "", unknown("source", source, "this is not the code of a language")
		}
		if _, ok := languages.Name(target); !ok {
			return "", "", unknown("target", target, "this is not the code of a language")
		}
		return source, target, nil
	}
	known, err := a.languagesOf(c, t)
	if err != nil {
		return "", "", err
	}
	from, targets := targetsOf(known, source)
	if targets == nil {
		return "", "", unknown("source", source, "the translation server does not know this language")
	}
	if i := slices.IndexFunc(targets, func(code string) bool { return strings.EqualFold(code, target) }); i >= 0 {
		return from, targets[i], nil
	}
	return "", "", unknown("target", target, "the translation server does not translate to this language from the source language")
}

// targetsOf returns the code of a source language as the server writes it and what it translates that to; nil if it does not
// know the language. Old servers translate everything to everything, and do not say so.
func targetsOf(known []upstream.Language, source string) (from string, targets []string) {
	var all []string
	for _, l := range known {
		all = append(append(all, l.Code), l.Targets...)
	}
	if source == upstream.Auto {
		return source, all
	}
	for _, l := range known {
		switch {
		case !strings.EqualFold(l.Code, source):
		case len(l.Targets) == 0:
			return l.Code, all
		default:
			return l.Code, append(slices.Clone(l.Targets), l.Code)
		}
	}
	return "", nil
}

// languagesOf returns the languages of the translator's server, as it said lately.
func (a *API) languagesOf(c *call.Call, t translator) (list []upstream.Language, err error) {
	c.Facts.Backend = route.Backend(c.Config, t.target.Model)
	return a.spoken.get(t.target.Upstream.BaseURL, a.o.Now(), func() (list []upstream.Language, err error) {
		err = a.serve(c, t.target, func(ctx context.Context, s *upstream.Service) (err error) {
			list, err = s.Languages(ctx)
			return err
		})
		return list, err
	})
}

// spoken remembers what languages the servers know. The zero value is ready; it may be used by many goroutines.
type spoken struct {
	mu sync.Mutex
	at map[string]*speaker // by address
}

type speaker struct {
	list   []upstream.Language
	asked  time.Time // the last time, when it answered
	asking bool
}

// get returns the languages of a server, asking for them if they are not known or old. While one call asks again, and when the
// server does not answer it, the old ones are good enough for a time.
func (s *spoken) get(address string, now time.Time, ask func() ([]upstream.Language, error)) ([]upstream.Language, error) {
	s.mu.Lock()
	if s.at == nil || len(s.at) >= speakersMax && s.at[address] == nil {
		s.at = map[string]*speaker{}
	}
	sp := s.at[address]
	if sp == nil {
		sp = &speaker{}
		s.at[address] = sp
	}
	age, list := now.Sub(sp.asked), sp.list
	if list != nil && (age < languagesFresh || sp.asking && age < languagesAgeMax) {
		s.mu.Unlock()
		return list, nil
	}
	sp.asking = true
	s.mu.Unlock()

	fresh, err := ask()

	s.mu.Lock()
	defer s.mu.Unlock()
	sp.asking = false
	if err == nil {
		sp.list, sp.asked = fresh, now
		return fresh, nil
	}
	if list != nil && age < languagesAgeMax {
		return list, nil
	}
	return nil, err
}
