// Package obs is what a process shows its operators: the log, /metrics in Prometheus' format, liveness, readiness and
// profiles.
//
// [Handler] belongs on a private address: profiles and metrics are not for the public. The package registers nothing
// globally; a process makes one registry and hands it around. Everything is safe for concurrent use.
package obs
