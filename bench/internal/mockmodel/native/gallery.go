package native

import (
	"cmp"
	"crypto/sha256"
	"math"
	"slices"
	"sync"
)

const (
	dim         = 8    // of embeddings
	threshold   = 0.5  // of matches
	subjectsMax = 1000 // of all galleries
)

// sample stands for a template: an embedding made of the text of an image.
type sample struct {
	vector [dim]float64
	count  int // samples that it was made of
}

func sampleOf(image string) sample {
	sum := sha256.Sum256([]byte(image))
	s := sample{count: 1}
	for i := range s.vector {
		s.vector[i] = float64(int(sum[i])-127) / 128
	}
	s.vector[0] += 0.001 // never all zeros
	return s
}

// score is the cosine of two samples, 0 where they point apart.
func score(a, b sample) float64 {
	var dot, aa, bb float64
	for i := range a.vector {
		dot += a.vector[i] * b.vector[i]
		aa += a.vector[i] * a.vector[i]
		bb += b.vector[i] * b.vector[i]
	}
	return min(max(dot/math.Sqrt(aa*bb), 0), 1)
}

// gallery is who is enrolled.
type gallery struct {
	mu    sync.Mutex
	known map[string]map[string]sample // gallery -> subject
	total int
}

// enroll averages a sample into what is known of a subject. A full gallery forgets everybody.
func (g *gallery) enroll(of, subject string, s sample) sample {
	g.mu.Lock()
	defer g.mu.Unlock()
	old, had := g.known[of][subject]
	if !had {
		if g.total++; g.total > subjectsMax {
			clear(g.known)
			g.total = 1
		}
		if g.known[of] == nil {
			g.known[of] = map[string]sample{}
		}
	} else {
		for i := range s.vector {
			s.vector[i] = (old.vector[i]*float64(old.count) + s.vector[i]) / float64(old.count+1)
		}
		s.count = old.count + 1
	}
	g.known[of][subject] = s
	return s
}

func (g *gallery) remove(of, subject string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, had := g.known[of][subject]
	if had {
		g.total--
		delete(g.known[of], subject)
	}
	return had
}

func (g *gallery) subjects(of string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	names := make([]string, 0, len(g.known[of]))
	for name := range g.known[of] {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// candidate is a subject and how alike it is.
type candidate struct {
	subject string
	score   float64
}

// search returns everybody, the most alike first.
func (g *gallery) search(of string, s sample) []candidate {
	g.mu.Lock()
	defer g.mu.Unlock()
	found := make([]candidate, 0, len(g.known[of]))
	for name, known := range g.known[of] {
		found = append(found, candidate{name, score(s, known)})
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.subject, b.subject))
	})
	return found
}
