package homography

import (
	"math"
	"slices"
)

// sweepsMax bounds the rotations; a 9 x 9 matrix needs fewer than ten sweeps.
const sweepsMax = 50

// nullVector is the eigenvector of the smallest eigenvalue of a symmetric matrix, by cyclic Jacobi rotations (Golub and Van
// Loan, Matrix Computations, 4th edition, section 8.5). It returns false when another eigenvalue is as small, so that
// there is no one such vector.
func nullVector(a [9][9]float64) (Matrix, bool) {
	var v [9][9]float64
	for i := range v {
		v[i][i] = 1
	}
	for range sweepsMax {
		var off float64
		for p := range 9 {
			for q := p + 1; q < 9; q++ {
				off += a[p][q] * a[p][q]
				rotate(&a, &v, p, q)
			}
		}
		if off < 1e-30 {
			break
		}
	}
	order := []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
	slices.SortFunc(order, func(i, j int) int {
		if a[i][i] < a[j][j] {
			return -1
		}
		return 1
	})
	var h Matrix
	for i := range h {
		h[i] = v[i][order[0]]
	}
	return h, a[order[1]][order[1]] > conditionMin*a[order[8]][order[8]]
}

// rotate makes a[p][q] zero and keeps the rotation in v.
func rotate(a, v *[9][9]float64, p, q int) {
	if a[p][q] == 0 {
		return
	}
	tau := (a[q][q] - a[p][p]) / (2 * a[p][q])
	t := 1 / (math.Abs(tau) + math.Sqrt(1+tau*tau))
	if tau < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(1+t*t)
	s := t * c
	for k := range 9 {
		a[k][p], a[k][q] = c*a[k][p]-s*a[k][q], s*a[k][p]+c*a[k][q]
	}
	for k := range 9 {
		a[p][k], a[q][k] = c*a[p][k]-s*a[q][k], s*a[p][k]+c*a[q][k]
		v[k][p], v[k][q] = c*v[k][p]-s*v[k][q], s*v[k][p]+c*v[k][q]
	}
}
