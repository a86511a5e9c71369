package limit

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"modelgate.internal/shared/apierr"
)

// Peers limits the calls that come without a key, by the address they come from and all together. It is exact on one node: in no
// window of a minute are more calls admitted than allowed. What it remembers is bounded by the calls that it admits.
//
// An address of IPv6 counts by its network of 64 bits, which is what one subscriber has. Behind a load balancer that hides
// addresses all callers are one. It may be used by many goroutines.
type Peers struct {
	each, all int

	mu    sync.Mutex
	calls []peerCall         // admitted in the window, oldest first
	count map[netip.Addr]int // of them, by address
}

type peerCall struct {
	peer netip.Addr
	at   time.Time
}

const peersWindow = time.Minute

// NewPeers allows calls a minute from each address, and from all of them together.
func NewPeers(each, all int) *Peers {
	return &Peers{each: each, all: all, count: map[netip.Addr]int{}}
}

// Admit counts a call, or refuses it with a 429 that says when to try again.
func (p *Peers) Admit(peer netip.Addr, now time.Time) error {
	if peer = peer.Unmap(); peer.Is6() {
		const network = 64
		peer = netip.PrefixFrom(peer.WithZone(""), network).Masked().Addr()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire(now)
	switch {
	case p.count[peer] >= p.each:
		return p.refusal("your address", p.each, p.oldest(peer), now)
	case len(p.calls) >= p.all:
		return p.refusal("all callers without a key", p.all, p.calls[0].at, now)
	}
	p.calls = append(p.calls, peerCall{peer, now})
	p.count[peer]++
	return nil
}

// expire forgets the calls that left the window.
func (p *Peers) expire(now time.Time) {
	n := 0
	for n < len(p.calls) && now.Sub(p.calls[n].at) >= peersWindow {
		peer := p.calls[n].peer
		if p.count[peer]--; p.count[peer] == 0 {
			delete(p.count, peer)
		}
		n++
	}
	p.calls = append(p.calls[:0], p.calls[n:]...)
}

// oldest returns when the first call of a peer that is in the window was.
func (p *Peers) oldest(peer netip.Addr) time.Time {
	for _, c := range p.calls {
		if c.peer == peer {
			return c.at
		}
	}
	return time.Time{}
}

func (p *Peers) refusal(whose string, most int, oldest, now time.Time) error {
	wait := max(oldest.Add(peersWindow).Sub(now), time.Second)
	return apierr.New(apierr.Limited, fmt.Sprintf(
		"Rate limit reached: without a key, %s may make %d calls a minute. Try again in %s, or use a key.",
		whose, most, (wait+time.Second-1).Truncate(time.Second))).After(wait)
}
