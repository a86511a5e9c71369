// Package scale measures the running system with very many keys: how long the portal's lists take and how long a node that
// knows nothing needs until it serves.
//
// A second test, skipped unless SCALE_USAGE_ROWS says how many hourly rows of usage (`make scale-usage`: 10,000,000), measures the
// charts of a month beside the usage of all others. An app has 80 rows for an hour there, and sketches of 8 durations in each.
//
// The first test is skipped unless SCALE_KEYS says how many keys; `make scale` runs it with 1,000,000. The keys are
// put into the database directly, a hundred to an account, ten to an app: making them through the interface would take hours.
// Everything else is the system as it runs. The bounds it holds are those that are promised, so a very busy machine can fail it.
package scale
