package api

import "net/http"

func (a *API) catalog(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "public, max-age=60")
	return writeJSON(w, a.Catalog)
}
