// Package bind fills request structs from JSON bodies and query parameters and reports every violation at once, in the
// shape of pydantic v2 (type, loc, msg, input, ctx), which is what the contract promises for 422 answers.
//
// A value in a body has the JSON type that the contract says: no text is a number, no number a boolean, no boolean a number. A
// number without a fraction is an integer however it is written (5, 5.0, 5e0), and one that 64 bits cannot hold is refused wherever
// it stands, since bodies are passed on. In a query all values are text, out of which numbers and booleans are read as pydantic's
// lax mode does. Unknown properties are ignored; of duplicate ones the last wins. The grammar of the `bind` tag is in
// the documentation of shared/wire. Echoed input is shortened, and fields marked secret are never echoed.
//
// The package keeps no state, so all functions are safe for concurrent use. It reads struct tags on each call: it serves
// requests that are validated one by one, not the gateway's fast path, which has a scanner of its own.
package bind
