// Package apierr is the one error type of Modelgate's answers and the one place that turns an error into a status and a
// body.
//
// An [Error] carries two texts: Detail is written to the client, the cause ([Error.Because]) is for the log and never
// leaves the process. Any other error is answered as 500 with a fixed text, so an internal message cannot leak by
// forgetting. The package does no logging and keeps no state; all functions are safe for concurrent use.
package apierr
