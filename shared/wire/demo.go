package wire

// DemoList is what GET /dev/demos answers.
type DemoList struct {
	Demos []Demo `json:"demos"`
}

// Demo is a page that shows something, and whether the caller may open it.
type Demo struct {
	ID          string   `json:"demo_id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Families    []string `json:"families"` // that a key needs in its scope
	Plan        string   `json:"plan"`     // the smallest that may open it
	Allowed     bool     `json:"allowed"`
	Path        string   `json:"path"`
}
