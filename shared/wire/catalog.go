package wire

import "time"

// Catalog answers GET /dev/catalog.
type Catalog struct {
	Families []CatalogFamily `json:"families"`
	Models   []CatalogModel  `json:"models"`
	Skills   []CatalogSkill  `json:"skills"`
	Plans    []Plan          `json:"plans"`
}

// CatalogFamily is a family of models and what it can be asked for.
type CatalogFamily struct {
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Tasks       []CatalogTask `json:"tasks"`
}

// CatalogTask is a task as apps and calls name it.
type CatalogTask struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// CatalogModel is a model as calls name it.
type CatalogModel struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Family      string `json:"family"`
	Default     bool   `json:"default"` // calls that name no model get this one
}

// CatalogSkill is a skill that can be invoked.
type CatalogSkill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Family      string `json:"family"`
}

// Plan is what an account of that plan may do.
type Plan struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	CallsPerDay   int64    `json:"calls_per_day"`
	Apps          *int64   `json:"apps"`            // nil is unlimited
	RatePerMinute int64    `json:"rate_per_minute"` // of one key
	Families      []string `json:"families"`
}

// ImageBuildList answers GET /dev/image-builds.
type ImageBuildList struct {
	Builds []ImageBuild `json:"builds"`
}

// ImageBuild is an image for hardware. What is nil is not known.
type ImageBuild struct {
	Target       string     `json:"target"`
	Name         string     `json:"name"`
	Version      string     `json:"version"`
	Format       string     `json:"format"` // ending of the file's name without the first dot: "img.xz"
	SizeBytes    *int64     `json:"size_bytes"`
	SHA256       *string    `json:"sha256"` // lower-case hexadecimal digits
	ReleasedAt   *time.Time `json:"released_at"`
	Available    bool       `json:"available"`     // a location is configured and, if it is a file, there
	DownloadPath string     `json:"download_path"` // with its query
}
