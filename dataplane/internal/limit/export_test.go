package limit

import "time"

// Sweep collects idle cells as Run does.
func (l *Limiter) Sweep(now time.Time) { l.sweep(now) }

// Held is the number of cells in the registry.
func (l *Limiter) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.cells)
}
