// Package once holds, on the real programs, that calls of the agent under an Idempotency-Key are made once: two nodes and a model
// server that counts what it is asked. Calls are repeated at the other node, made at the same time at both, changed, and cut by the
// death of their node; the model server must be asked as often as was promised, and the usage must say the same.
package once
