// Package bind fills request structs from JSON bodies and query parameters and reports every violation at once, in the
// shape of pydantic v2 (type, loc, msg, input, ctx), which is what the contract promises for 422 answers.
//
// Values are taken as pydantic's lax mode takes them: "5" and 5.0 are integers, "true" and 1 are booleans, a number is
// never a string. Unknown properties are ignored; of duplicate ones the last wins. The grammar of the `bind` tag is in
// the documentation of shared/wire. Echoed input is shortened, and fields marked secret are never echoed.
//
// The package keeps no state, so all functions are safe for concurrent use. It reads struct tags on each call: it serves
// requests that are validated one by one, not the gateway's fast path, which has a scanner of its own.
package bind
