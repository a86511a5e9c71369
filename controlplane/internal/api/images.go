package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"modelgate.internal/controlplane/internal/catalog"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
)

// imageQuery are the parameters of a download.
type imageQuery struct {
	Version string `json:"version"`
}

func (a *API) listImageBuilds(w http.ResponseWriter, _ *http.Request, _ string) error {
	return writeJSON(w, a.Images.List())
}

// downloadImage redirects to an image that is elsewhere and streams one that is a file.
func (a *API) downloadImage(w http.ResponseWriter, r *http.Request) error {
	var q imageQuery
	if err := bind.Query(r.URL.Query(), &q); err != nil {
		return err
	}
	image, err := a.Images.Find(r.PathValue("target"), q.Version)
	if err != nil {
		return err
	}
	if image.Remote() {
		w.Header().Set("Location", image.Location)
		w.Header().Set("Cache-Control", "no-cache")
		w.WriteHeader(http.StatusFound)
		return nil
	}
	select {
	case a.downloads <- struct{}{}:
		defer func() { <-a.downloads }()
	default:
		return apierr.New(apierr.Unavailable, fmt.Sprintf("%d images are being downloaded at the moment. Try again later.", DownloadsMax)).
			After(DownloadRetryAfter)
	}
	return a.stream(w, r, image)
}

// stream answers with a file, or with the ranges of it that are asked for.
func (a *API) stream(w http.ResponseWriter, r *http.Request, image catalog.Image) error {
	file, info, err := image.Open()
	if err != nil {
		return catalog.Unavailable(image).Because(err)
	}
	defer file.Close()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": image.FileName()}))
	h.Set("Cache-Control", "public, no-cache")
	if image.SHA256 != "" && (image.SizeBytes == 0 || image.SizeBytes == info.Size()) {
		h.Set("ETag", `"`+image.SHA256+`"`)
	}
	d := &download{ResponseWriter: w, control: http.NewResponseController(w), until: time.Now().Add(DownloadTimeout)}
	http.ServeContent(d, r, image.FileName(), info.ModTime(), file)
	return nil
}

// download is a ResponseWriter for an answer that takes as long as the client needs, provided that it takes some of it all
// the time. Errors, which ServeContent writes as text, become JSON.
type download struct {
	http.ResponseWriter
	control *http.ResponseController
	until   time.Time
	failed  bool
}

// WriteHeader implements http.ResponseWriter.
func (d *download) WriteHeader(status int) {
	if status < http.StatusBadRequest {
		d.ResponseWriter.WriteHeader(status)
		return
	}
	d.failed = true
	detail := "The file could not be sent."
	switch status {
	case http.StatusPreconditionFailed:
		detail = "The image is not the one that the condition names."
	case http.StatusRequestedRangeNotSatisfiable:
		detail = "The image has no such range."
	}
	h := d.Header()
	for _, name := range []string{"Content-Length", "Content-Disposition", "ETag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	d.ResponseWriter.WriteHeader(status)
	body, err := json.Marshal(map[string]string{"detail": detail})
	if err != nil {
		panic("BUG: api: a text that is not JSON: " + err.Error())
	}
	d.ResponseWriter.Write(body) //nolint:errcheck // the client has gone
}

// Write implements http.ResponseWriter.
func (d *download) Write(b []byte) (int, error) {
	if d.failed {
		return len(b), nil
	}
	deadline := time.Now().Add(DownloadPieceTimeout)
	if deadline.After(d.until) {
		deadline = d.until
	}
	if err := d.control.SetWriteDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, fmt.Errorf("give the client more time: %w", err)
	}
	return d.ResponseWriter.Write(b)
}
