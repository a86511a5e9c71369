// Package journey takes the way of a newcomer through the whole system, with the real programs as processes and a real
// database: an account, an app, a key, calls and streams, usage, revocation, and then the same key while one part after the
// other is down.
//
// It holds tests only. What single answers look like byte by byte is the business of the planes' own transcripts; here it
// matters that the parts work together.
//
// The steps run one after the other on one stack of their own, on free ports, beside whatever else runs on the machine. A step
// that fails ends the journey, since the later ones build on it; the stack's reports and logs are shown then.
package journey
