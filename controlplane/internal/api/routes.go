package api

import (
	"net/http"

	contract "modelgate.internal/shared/api"
	"modelgate.internal/shared/apierr"
)

// Route is an operation of the contract and what answers it.
type Route struct {
	Method      string
	Path        string // as in the document
	OperationID string
	Handler     Handler
}

// Routes are the operations that are built, in the order of the document.
func (a *API) Routes() []Route {
	return []Route{
		{"GET", "/dev/", "portalPage", a.portalPage},
		{"GET", "/dev/docs-page", "docsPage", a.docsPage},
		{"GET", "/dev/openapi", "openapiDocument", a.openapi},
		{"GET", "/dev/image-builds", "listImageBuilds", a.signedIn(a.listImageBuilds)},
		{"GET", "/dev/download/image/{target}", "downloadImage", a.downloadImage},

		{"POST", "/dev/auth/register", "register", a.register},
		{"POST", "/dev/auth/login", "login", a.login},
		{"GET", "/dev/auth/google-client-id", "googleClientId", a.googleClientID},
		{"GET", "/dev/auth/me", "me", a.signedIn(a.me)},
		{"GET", "/dev/catalog", "catalog", a.catalog},
		{"GET", "/dev/limits", "limits", a.signedIn(a.limits)},

		{"GET", "/dev/apps", "listApps", a.signedIn(a.listApps)},
		{"POST", "/dev/apps", "createApp", a.signedIn(a.createApp)},
		{"GET", "/dev/apps/{app_id}", "getApp", a.signedIn(a.getApp)},
		{"PUT", "/dev/apps/{app_id}", "updateApp", a.signedIn(a.updateApp)},
		{"DELETE", "/dev/apps/{app_id}", "deleteApp", a.signedIn(a.deleteApp)},
		{"POST", "/dev/apps/{app_id}/keys", "createKey", a.signedIn(a.createKey)},
		{"DELETE", "/dev/apps/{app_id}/keys/{key_id}", "revokeKey", a.signedIn(a.revokeKey)},
		{"POST", "/dev/apps/{app_id}/keys/{key_id}/regenerate", "regenerateKey", a.signedIn(a.regenerateKey)},
		{"GET", "/dev/apps/{app_id}/usage", "appUsage", a.signedIn(a.appUsage)},

		{"GET", "/dev/darwin-tokens", "listDarwinTokens", a.signedIn(a.listTokens)},
		{"POST", "/dev/darwin-tokens", "createDarwinToken", a.signedIn(a.createToken)},
		{"DELETE", "/dev/darwin-tokens/{key_id}", "revokeDarwinToken", a.signedIn(a.revokeToken)},

		{"GET", "/dev/playground/key-for-stream", "keyForStream", a.signedIn(a.keyForStream)},

		{"GET", "/api/developer/metrics", "getMetrics", a.open(a.CounterReads, a.getMetrics)},
		{"POST", "/api/developer/metrics", "queryMetrics", a.open(a.CounterReads, a.queryMetrics)},
		{"GET", "/api/developer/metrics/formatted", "formattedMetrics", a.open(a.CounterReads, a.formattedMetrics)},
		{"POST", "/api/developer/track", "trackEvent", a.open(a.CounterWrites, a.trackEvent)},
		{"GET", "/api/developer/embed/metrics.js", "metricsScript", a.open(a.CounterReads, a.metricsScript)},
		{"GET", "/api/developer/embed/badge.svg", "metricsBadge", a.open(a.CounterReads, a.metricsBadge)},
		{"GET", "/api/developer/metrics/debug", "debugMetrics", a.open(a.CounterReads, a.debugMetrics)},
		{"POST", "/api/developer/metrics/reset", "resetMetrics", a.open(a.CounterWrites, a.resetMetrics)},
		{"GET", "/api/developer/info", "developerInfo", a.open(a.CounterReads, a.developerInfo)},
	}
}

// Planned are the operations of the control plane that the contract marks as not built yet; they answer 501.
func (a *API) Planned() []Route {
	var routes []Route
	for _, op := range a.document.operations {
		if op.Plane == contract.PlaneControl && op.Planned {
			routes = append(routes, Route{op.Method, op.Path, op.ID, notBuilt(op)})
		}
	}
	return routes
}

func notBuilt(op contract.Operation) Handler {
	err := apierr.New(apierr.NotBuilt, op.Method+" "+op.Path+" is in the contract but not built yet.")
	return func(http.ResponseWriter, *http.Request) error { return err }
}
