// Package meter turns a finished call into its usage record and hands it to the spool.
//
// It decides nothing about prices or quotas. Calls without a caller are not metered, as there is nobody to count them for.
//
// Concurrency: everything is safe for concurrent use. Failure: a record that the spool cannot take is returned as an error,
// which the gateway logs and counts; the spool asks for calls to be refused well before that happens.
package meter
