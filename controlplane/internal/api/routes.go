package api

import (
	"net/http"
	"slices"

	"modelgate.internal/controlplane/internal/playground"
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

// Routes are the operations that are built. What they change is recorded under their id.
func (a *API) Routes() []Route {
	routes := []Route{
		{"GET", "/dev/", "portalPage", a.portalPage},
		{"GET", "/dev/docs-page", "docsPage", a.docsPage},
		{"GET", "/dev/openapi", "openapiDocument", a.openapi},
		{"GET", "/dev/demos", "listDemos", a.signedIn(a.listDemos)},
		{"GET", "/dev/demos/{demo_id}", "demoPage", a.demoPage},
		{"GET", "/dev/{demo_file}.html", "demoFilePage", a.demoFilePage},
		{"GET", "/dev/sdk/{file_path}", "sdkFile", a.sdkFile},
		{"GET", "/dev/image-builds", "listImageBuilds", a.signedIn(a.listImageBuilds)},
		{"GET", "/dev/download/image/{target}", "downloadImage", a.downloadImage},

		{"GET", "/dev/apps", "listApps", a.signedIn(a.listApps)},
		{"POST", "/dev/apps", "createApp", a.signedIn(a.createApp)},
		{"GET", "/dev/apps/{app_id}", "getApp", a.signedIn(a.getApp)},
		{"PUT", "/dev/apps/{app_id}", "updateApp", a.signedIn(a.updateApp)},
		{"DELETE", "/dev/apps/{app_id}", "deleteApp", a.signedIn(a.deleteApp)},
		{"POST", "/dev/apps/{app_id}/keys", "createKey", a.signedIn(a.createKey)},
		{"DELETE", "/dev/apps/{app_id}/keys/{key_id}", "revokeKey", a.signedIn(a.revokeKey)},
		{"POST", "/dev/apps/{app_id}/keys/{key_id}/regenerate", "regenerateKey", a.signedIn(a.regenerateKey)},
		{"GET", "/dev/apps/{app_id}/usage", "appUsage", a.signedIn(a.appUsage)},
		{"GET", "/dev/apps/{app_id}/requests", "listRequests", a.signedIn(a.listRequests)},

		{"GET", "/dev/darwin-tokens", "listDarwinTokens", a.signedIn(a.listTokens)},
		{"POST", "/dev/darwin-tokens", "createDarwinToken", a.signedIn(a.createToken)},
		{"DELETE", "/dev/darwin-tokens/{key_id}", "revokeDarwinToken", a.signedIn(a.revokeToken)},

		{"POST", "/dev/playground", "playground", a.play(playground.Task)},
		{"POST", "/dev/playground/stream", "playgroundStream", a.play(playground.TaskStream)},
		{"POST", "/dev/playground/deep-search", "playgroundDeepSearch", a.play(playground.DeepSearch)},
		{"POST", "/dev/playground/voice", "playgroundVoice", a.play(playground.Voice)},
		{"POST", "/dev/playground/biometrix", "playgroundBiometrix", a.play(playground.Biometrix)},
		{"POST", "/dev/playground/depth-estimate", "playgroundDepthEstimate", a.play(playground.DepthEstimate)},
		{"POST", "/dev/playground/spatial-query", "playgroundSpatialQuery", a.play(playground.SpatialQuery)},
		{"POST", "/dev/playground/multicam-calibrate", "playgroundMulticamCalibrate", a.signedIn(a.calibrate)},
		{"POST", "/dev/playground/multicam-identify", "playgroundMulticamIdentify", a.play(playground.MulticamIdentify)},
		{"GET", "/dev/playground/key-for-stream", "keyForStream", a.signedIn(a.keyForStream)},
		{"GET", "/dev/config/stream-key", "streamKey", a.signedIn(a.streamKey)},

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
	routes = slices.Concat(routes, a.accountRoutes(), a.orgRoutes(), a.billingRoutes())
	for i, r := range routes {
		routes[i].Handler = traced(r.OperationID, r.Handler)
	}
	return routes
}

// accountRoutes are those of a developer: signing in, the account, and what it may do.
func (a *API) accountRoutes() []Route {
	return []Route{
		{"POST", "/dev/auth/register", "register", a.register},
		{"POST", "/dev/auth/login", "login", a.login},
		{"POST", "/dev/auth/google", "loginWithGoogle", a.loginWithGoogle},
		{"GET", "/dev/auth/google-client-id", "googleClientId", a.googleClientID},
		{"GET", "/dev/auth/me", "me", a.signedIn(a.me)},
		{"POST", "/dev/auth/login/totp", "loginTotp", a.loginTOTP},
		{"GET", "/dev/auth/totp", "totpState", a.signedIn(a.totp)},
		{"POST", "/dev/auth/totp", "beginTotp", a.signedIn(a.beginTOTP)},
		{"POST", "/dev/auth/totp/confirm", "confirmTotp", a.signedIn(a.confirmTOTP)},
		{"POST", "/dev/auth/totp/disable", "disableTotp", a.signedIn(a.disableTOTP)},
		{"POST", "/dev/auth/refresh", "refresh", a.refresh},
		{"POST", "/dev/auth/logout", "logout", a.inSession(a.logout)},
		{"GET", "/dev/auth/sessions", "listSessions", a.inSession(a.listSessions)},
		{"DELETE", "/dev/auth/sessions", "endOtherSessions", a.inSession(a.endOtherSessions)},
		{"DELETE", "/dev/auth/sessions/{session_id}", "endSession", a.signedIn(a.endSession)},
		{"POST", "/dev/auth/verify-email/send", "sendVerification", a.signedIn(a.sendVerification)},
		{"POST", "/dev/auth/verify-email", "verifyEmail", a.verifyEmail},
		{"POST", "/dev/auth/forgot-password", "forgotPassword", a.forgotPassword},
		{"POST", "/dev/auth/reset-password", "resetPassword", a.resetPassword},
		{"POST", "/dev/auth/change-password", "changePassword", a.inSession(a.changePassword)},
		{"GET", "/dev/account", "getAccount", a.signedIn(a.getAccount)},
		{"DELETE", "/dev/account", "deleteAccount", a.inSession(a.deleteAccount)},
		{"POST", "/dev/account/restore", "restoreAccount", a.signedIn(a.restoreAccount)},
		{"GET", "/dev/account/export", "exportAccount", a.inSession(a.exportAccount)},
		{"GET", "/dev/catalog", "catalog", a.catalog},
		{"GET", "/dev/limits", "limits", a.signedIn(a.limits)},
		{"GET", "/dev/usage", "accountUsage", a.signedIn(a.accountUsage)},
	}
}

// orgRoutes are those of organizations and of the audit log.
func (a *API) orgRoutes() []Route {
	return []Route{
		{"GET", "/dev/audit", "listAudit", a.signedIn(a.listAudit)},
		{"GET", "/dev/audit/verify", "verifyAudit", a.signedIn(a.verifyAudit)},

		{"GET", "/dev/org", "getOrg", a.signedIn(a.getOrg)},
		{"PUT", "/dev/org", "renameOrg", a.signedIn(a.renameOrg)},
		{"POST", "/dev/org", "createOrg", a.signedIn(a.createOrg)},
		{"GET", "/dev/org/email-config", "orgEmailConfig", a.signedIn(a.orgEmailConfig)},
		{"POST", "/dev/org/test-email", "orgTestEmail", a.paced(a.Mails, a.signedIn(a.orgTestEmail))},
		{"GET", "/dev/org/search-developer", "searchDeveloper", a.paced(a.Searches, a.signedIn(a.searchDeveloper))},
		{"POST", "/dev/org/add-member", "addMember", a.signedIn(a.addMember)},
		{"POST", "/dev/org/invite", "invite", a.paced(a.Mails, a.signedIn(a.invite))},
		{"DELETE", "/dev/org/invite/{invite_id}", "revokeInvite", a.signedIn(a.revokeInvite)},
		{"POST", "/dev/org/invite/{invite_id}/resend", "resendInvite", a.paced(a.Mails, a.signedIn(a.resendInvite))},
		{"DELETE", "/dev/org/member/{dev_id}", "removeMember", a.signedIn(a.removeMember)},
		{"PUT", "/dev/org/member/{dev_id}/role", "changeRole", a.signedIn(a.changeRole)},
		{"GET", "/dev/org/invite-info/{invite_id}", "inviteInfo", a.paced(a.Looks, a.inviteInfo)},
		{"POST", "/dev/org/accept-invite", "acceptInvite", a.signedIn(a.acceptInvite)},
	}
}

// billingRoutes are those of plans that are paid for.
func (a *API) billingRoutes() []Route {
	return []Route{
		{"GET", "/dev/billing/config", "billingConfig", a.billingConfig},
		{"POST", "/dev/billing/checkout", "billingCheckout", a.paying(a.checkout)},
		{"POST", "/dev/billing/webhook", "billingWebhook", a.billingWebhook},
		{"POST", "/dev/billing/portal", "billingPortal", a.paying(a.billingPortal)},
		{"GET", "/dev/billing/verify-session", "verifyCheckout", a.signedIn(a.verifyCheckout)},
		{"GET", "/dev/billing/subscription", "billingState", a.paying(a.billingState)},
		{"POST", "/dev/billing/subscription", "changePlan", a.paying(a.changePlan)},
		{"GET", "/dev/billing/preview", "previewPlan", a.paying(a.previewPlan)},
		{"GET", "/dev/billing/invoices", "listInvoices", a.paying(a.listInvoices)},
		{"PUT", "/dev/billing/apps", "keepApps", a.paying(a.keepApps)},
		{"GET", "/dev/billing/alerts", "alertSettings", a.paying(a.alertSettings)},
		{"PUT", "/dev/billing/alerts", "setAlerts", a.paying(a.setAlerts)},
		{"POST", "/dev/billing/alerts/secret", "rotateAlertSecret", a.paying(a.rotateAlertSecret)},
		{"POST", "/dev/billing/alerts/test", "testAlert", a.paying(a.testAlert)},
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
