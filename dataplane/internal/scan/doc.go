// Package scan reads the body of POST /api/v1/agent.
//
// Two readers share the work. The fast one knows exactly the fields of the contract, copies nothing, allocates nothing and
// gives up on anything unusual: unknown or repeated fields, escapes where a name is expected, exponents, wrong types, invalid
// UTF-8, values out of range. The slow one, shared/bind, then reads the same body again and alone decides what is an error.
// What the fast reader accepts the slow one accepts with the same values; a fuzz test holds them to it.
//
// Strings stay JSON literals, quotes included, since they go into another JSON document.
//
// Concurrency: the functions keep no state; a [Request] belongs to one goroutine. There is nothing to fail but the body.
package scan
