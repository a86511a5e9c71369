package homography_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"modelgate.internal/controlplane/internal/homography"
)

// camera maps an image of 1280 x 720 to a floor of some metres, as one that looks down at a slant does.
var camera = homography.Matrix{0.004, 0.0006, -2.9, 0.0002, -0.011, 9.4, 0.00001, 0.0019, 1}

// scene is pairs of points of which the last wrong ones are anywhere, with noise in pixels.
func scene(t *testing.T, seed uint64, right, wrong int, noise float64) (src, dst []homography.Point) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	for range right {
		p := homography.Point{1280 * random.Float64(), 100 + 620*random.Float64()}
		q, ok := camera.Map(p)
		if !ok {
			t.Fatal("a point on the horizon")
		}
		src, dst = append(src, homography.Point{p[0] + noise*random.NormFloat64(), p[1] + noise*random.NormFloat64()}), append(dst, q)
	}
	for range wrong {
		src = append(src, homography.Point{1280 * random.Float64(), 720 * random.Float64()})
		dst = append(dst, homography.Point{10*random.Float64() - 5, 20 * random.Float64()})
	}
	return src, dst
}

// worst is how far the map takes the first n pairs from where they are, in metres.
func worst(m homography.Matrix, src, dst []homography.Point, n int) float64 {
	far := 0.0
	for i := range n {
		q, _ := m.Map(src[i])
		far = max(far, math.Hypot(q[0]-dst[i][0], q[1]-dst[i][1]))
	}
	return far
}

func TestFourPointsAreTakenExactly(t *testing.T) {
	src := []homography.Point{{100, 700}, {1180, 700}, {900, 400}, {380, 400}}
	dst := []homography.Point{{0, 0}, {4, 0}, {4, 6}, {0, 6}}
	fit, err := homography.Find(src, dst)
	if err != nil || fit.Inliers != 4 {
		t.Fatalf("%+v %v", fit, err)
	}
	if far := worst(fit.Matrix, src, dst, 4); far > 1e-6 {
		t.Errorf("off by %g m", far)
	}
}

func TestOutliersAreFoundOut(t *testing.T) {
	for seed := range uint64(50) {
		src, dst := scene(t, seed, 36, 24, 0.3)
		fit, err := homography.Find(src, dst)
		if err != nil {
			t.Errorf("scene %d: %v", seed, err)
			continue
		}
		if far := worst(fit.Matrix, src, dst, 36); far > homography.ToleranceM || fit.Inliers < 36 {
			t.Errorf("scene %d: %d inliers, off by %g m", seed, fit.Inliers, far)
		}
	}
}

func TestTheSamePointsGiveTheSameMatrix(t *testing.T) {
	src, dst := scene(t, 3, 30, 10, 0.5)
	first, err := homography.Find(src, dst)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if again, err := homography.Find(src, dst); err != nil || again != first {
			t.Fatalf("%+v then %+v: %v", first, again, err)
		}
	}
}

func TestWhatDefinesNoMapIsRefused(t *testing.T) {
	square := []homography.Point{{0, 0}, {4, 0}, {4, 6}, {0, 6}}
	for name, src := range map[string][]homography.Point{
		"on a line":         {{0, 0}, {100, 100}, {200, 200}, {300, 300}},
		"three on a line":   {{0, 0}, {100, 100}, {200, 200}, {50, 300}},
		"one point":         {{5, 5}, {5, 5}, {5, 5}, {5, 5}},
		"two of them twice": {{0, 0}, {0, 0}, {100, 50}, {100, 50}},
	} {
		if fit, err := homography.Find(src, square); !errors.Is(err, homography.ErrDegenerate) {
			t.Errorf("%s: %+v %v", name, fit, err)
		}
		if fit, err := homography.Find(square, src); !errors.Is(err, homography.ErrDegenerate) {
			t.Errorf("%s on the floor: %+v %v", name, fit, err)
		}
	}
	for seed := range uint64(20) {
		src, dst := scene(t, seed, 0, 12, 0)
		if fit, err := homography.Find(src, dst); err == nil {
			t.Errorf("pairs that have nothing to do with each other: %+v", fit)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	src, dst := scene(&testing.T{}, 1, 600, 400, 0.3)
	for b.Loop() {
		if _, err := homography.Find(src, dst); err != nil {
			b.Fatal(err)
		}
	}
}
