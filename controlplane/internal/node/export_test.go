package node

// Pause exposes how long a watch waits between two looks.
var Pause = pause

// Bell is what an acknowledgement rings.
type Bell struct{ bell }

// Wait exposes wait.
func (b *Bell) Wait() <-chan struct{} { return b.wait() }

// Ring exposes ring.
func (b *Bell) Ring() { b.ring() }
