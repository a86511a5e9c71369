package homography

import (
	"errors"
	"math"
	"math/rand/v2"
)

// Point is x and y: pixels in the image, metres on the floor.
type Point [2]float64

// Matrix maps the image to the floor: rows, scaled so that the last element is 1 where that is possible.
type Matrix [9]float64

// Fit is what was found.
type Fit struct {
	Matrix  Matrix
	Inliers int // pairs that the map takes to within ToleranceM
}

// What can be wrong with points.
var (
	ErrDegenerate  = errors.New("the points define no map: four of them must have no three on a line, in the image and on the floor")
	ErrNoAgreement = errors.New("too few of the pairs agree on a map to within 0.1 m")
)

// Find returns the map that takes src to dst, from at least PointsMin pairs. Errors: ErrDegenerate, ErrNoAgreement.
func Find(src, dst []Point) (Fit, error) {
	toSrc, okSrc := normalisation(src)
	toDst, okDst := normalisation(dst)
	if !okSrc || !okDst {
		return Fit{}, ErrDegenerate
	}
	best, found := sample(src, dst, apply(toSrc, src), apply(toDst, dst))
	if !found {
		return Fit{}, ErrDegenerate
	}
	if n := len(best); n < PointsMin || 2*n < len(src) || len(src) > PointsMin+1 && n == PointsMin {
		return Fit{}, ErrNoAgreement // any four pairs agree with each other, so four of many prove nothing
	}
	for { // refit on the inliers for as long as that finds more
		m, ok := solve(pick(src, best), pick(dst, best))
		if !ok {
			return Fit{}, ErrDegenerate
		}
		more := inliers(m, src, dst)
		if len(more) <= len(best) {
			if len(more) < len(best) {
				return Fit{}, ErrNoAgreement
			}
			return Fit{scaled(m), len(more)}, nil
		}
		best = more
	}
}

// Map takes a point of the image to the floor. It returns false for points on the horizon.
func (m Matrix) Map(p Point) (Point, bool) {
	w := m[6]*p[0] + m[7]*p[1] + m[8]
	q := Point{(m[0]*p[0] + m[1]*p[1] + m[2]) / w, (m[3]*p[0] + m[4]*p[1] + m[5]) / w}
	return q, !math.IsNaN(q[0]+q[1]) && !math.IsInf(q[0]+q[1], 0)
}

// sample returns the largest set of pairs that agree with the map of four of them. The normalised points tell which four
// are no use.
func sample(src, dst, flatSrc, flatDst []Point) (best []int, found bool) {
	random := rand.New(rand.NewPCG(roundsSeed, uint64(len(src)))) //nolint:gosec // repeatable on purpose
	rounds := roundsMax
	for round := 0; round < rounds; round++ {
		four := random.Perm(len(src))[:PointsMin]
		if collinear(flatSrc, four) || collinear(flatDst, four) {
			continue
		}
		m, ok := solve(pick(src, four), pick(dst, four))
		if !ok {
			continue
		}
		found = true
		if agree := inliers(m, src, dst); len(agree) > len(best) {
			best = agree
			share := float64(len(best)) / float64(len(src))
			if share == 1 {
				break
			}
			rounds = min(rounds, 1+int(math.Log(1-sureness)/math.Log(1-math.Pow(share, PointsMin))))
		}
	}
	return best, found
}

// inliers are the pairs that m takes to within the tolerance and that lie on one side of its horizon.
func inliers(m Matrix, src, dst []Point) []int {
	var front, back []int
	for i, p := range src {
		q, ok := m.Map(p)
		if !ok || math.Hypot(q[0]-dst[i][0], q[1]-dst[i][1]) > ToleranceM {
			continue
		}
		if m[6]*p[0]+m[7]*p[1]+m[8] > 0 {
			front = append(front, i)
		} else {
			back = append(back, i)
		}
	}
	if len(front) >= len(back) {
		return front
	}
	return back
}

// solve is the normalised direct linear transformation.
func solve(src, dst []Point) (Matrix, bool) {
	t, okSrc := normalisation(src)
	u, okDst := normalisation(dst)
	if !okSrc || !okDst {
		return Matrix{}, false
	}
	var normal [9][9]float64 // transposed design matrix times itself
	add := func(row [9]float64) {
		for i := range row {
			for j := range row {
				normal[i][j] += row[i] * row[j]
			}
		}
	}
	s, d := apply(t, src), apply(u, dst)
	for i, p := range s {
		x, y, q := p[0], p[1], d[i]
		add([9]float64{-x, -y, -1, 0, 0, 0, q[0] * x, q[0] * y, q[0]})
		add([9]float64{0, 0, 0, -x, -y, -1, q[1] * x, q[1] * y, q[1]})
	}
	h, unique := nullVector(normal)
	if !unique {
		return Matrix{}, false
	}
	m := multiply(inverse(u), multiply(h, Matrix{t.scale, 0, -t.scale * t.x, 0, t.scale, -t.scale * t.y, 0, 0, 1}))
	return m, !math.IsNaN(m[0] + m[8])
}

// similarity moves points to the origin and scales them.
type similarity struct{ x, y, scale float64 }

// normalisation gives points the centroid 0 and the mean distance √2 from it. It returns false if they are one point.
func normalisation(points []Point) (similarity, bool) {
	var s similarity
	n := float64(len(points))
	for _, p := range points {
		s.x, s.y = s.x+p[0]/n, s.y+p[1]/n
	}
	var mean float64
	for _, p := range points {
		mean += math.Hypot(p[0]-s.x, p[1]-s.y) / n
	}
	s.scale = math.Sqrt2 / mean
	return s, mean > 0 && !math.IsInf(s.scale, 0) && !math.IsInf(mean, 0)
}

func apply(s similarity, points []Point) []Point {
	out := make([]Point, len(points))
	for i, p := range points {
		out[i] = Point{(p[0] - s.x) * s.scale, (p[1] - s.y) * s.scale}
	}
	return out
}

func inverse(s similarity) Matrix {
	return Matrix{1 / s.scale, 0, s.x, 0, 1 / s.scale, s.y, 0, 0, 1}
}

// collinear reports whether three of the four points are (nearly) on a line.
func collinear(points []Point, four []int) bool {
	for skip := range four {
		var c []Point
		for i, at := range four {
			if i != skip {
				c = append(c, points[at])
			}
		}
		if math.Abs((c[1][0]-c[0][0])*(c[2][1]-c[0][1])-(c[2][0]-c[0][0])*(c[1][1]-c[0][1])) < flatness {
			return true
		}
	}
	return false
}

func pick(points []Point, at []int) []Point {
	out := make([]Point, len(at))
	for i, n := range at {
		out[i] = points[n]
	}
	return out
}

func multiply(a, b Matrix) Matrix {
	var m Matrix
	for row := range 3 {
		for col := range 3 {
			for k := range 3 {
				m[3*row+col] += a[3*row+k] * b[3*k+col]
			}
		}
	}
	return m
}

// scaled gives the last element the value 1; a map whose horizon runs through the image's origin keeps its own scale.
func scaled(m Matrix) Matrix {
	if math.Abs(m[8]) < 1e-12 {
		return m
	}
	last := m[8]
	for i := range m {
		m[i] /= last
	}
	return m
}
