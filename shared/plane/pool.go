package plane

// How a pool chooses among its members.
const (
	PolicyRoundRobin    = "round_robin"     // in turn, smoothly by weight
	PolicyLeastInFlight = "least_in_flight" // fewest calls and streams at the moment, per weight
	PolicyP2CEWMA       = "p2c_ewma"        // of two drawn by weight, the one with the lower latency times load; the default
)

// FailureClass says how an attempt at an upstream failed before the first byte of its answer.
type FailureClass string

// The failure classes.
const (
	FailConnect       FailureClass = "connect"        // no connection: refused, unreachable, TLS, or no time left for it
	FailRateLimited   FailureClass = "rate_limited"   // 429
	FailServerError   FailureClass = "server_error"   // 5xx, or the connection ended before an answer
	FailRefused       FailureClass = "refused"        // it refuses the gateway itself: credential, account, unknown model
	FailTimeout       FailureClass = "timeout"        // a deadline for the answer or its first event passed
	FailInvalidAnswer FailureClass = "invalid_answer" // an answer that breaks HTTP or the dialect
	FailBusy          FailureClass = "busy"           // our own caps: all members at their concurrency, or the queue full
)

// PoolSpec is a group of upstreams that serve as one. All of them, and the targets of the fallbacks, speak one dialect and
// are either all simulators or none. The zero value of every field but ID and Members means its default.
type PoolSpec struct {
	ID          string     `json:"id"`               // not the ID of an UpstreamSpec: a Model names either
	Policy      string     `json:"policy,omitempty"` // one of the Policy words
	Members     []Member   `json:"members"`
	Fallbacks   []Fallback `json:"fallbacks,omitempty"` // tried in this order once the pool's own attempts failed
	Retry       Retry      `json:"retry,omitzero"`
	Concurrency int        `json:"concurrency,omitempty"` // calls and streams of this pool at a time per node; 0 means no cap
	Queue       Queue      `json:"queue,omitzero"`
}

// Member is an upstream in a pool.
type Member struct {
	Upstream string `json:"upstream"`         // ID of an UpstreamSpec
	Weight   int    `json:"weight,omitempty"` // its share relative to the others, 1 to 1000; 0 means 1
}

// Fallback sends a call elsewhere when the attempts so far ended with one of the classes. Exactly one of Upstream and Model
// is set. The fallbacks of the target are not followed.
type Fallback struct {
	On       []FailureClass `json:"on,omitempty"`       // empty means every class
	Upstream string         `json:"upstream,omitempty"` // ID of an UpstreamSpec or a PoolSpec
	Model    string         `json:"model,omitempty"`    // ID of a Model: whatever serves that
}

// Retry bounds further attempts in the same pool after a connect error, a 429, a 5xx or a refusal, before anything of an
// answer arrived: a server that broke off has done work that somebody pays for.
type Retry struct {
	Attempts      int `json:"attempts,omitempty"`       // of one call, the first included, at most 10; 0 means 3, 1 none further
	BudgetPercent int `json:"budget_percent,omitempty"` // further attempts per 100 calls of the pool, at most 100; 0 means 10, -1 none
	MinPerSecond  int `json:"min_per_second,omitempty"` // further attempts that are allowed whatever the traffic; 0 means 3, -1 none
}

// Breaker takes an upstream out of use when it keeps failing.
type Breaker struct {
	Failures     int   `json:"failures,omitempty"`        // in a row that open it, for those who failed or for all; 0 means 5, -1 turns the breaker off
	WindowMS     int64 `json:"window_ms,omitempty"`       // milliseconds in which they must fall; 0 means 10,000
	BackOffMS    int64 `json:"back_off_ms,omitempty"`     // milliseconds until the first probe, doubled by each failed one; 0 means 1,000
	BackOffMaxMS int64 `json:"back_off_max_ms,omitempty"` // milliseconds the doubling stops at; 0 means 30,000
}

// Health asks an upstream on its own account whether it is well, from every node.
type Health struct {
	Path       string `json:"path,omitempty"`        // GET of this path at the host of BaseURL, "/health"; any 2xx is well; empty asks nothing
	IntervalMS int64  `json:"interval_ms,omitempty"` // milliseconds between questions; 0 means 5,000
	TimeoutMS  int64  `json:"timeout_ms,omitempty"`  // milliseconds for an answer; 0 means 2,000
	Down       int    `json:"down,omitempty"`        // bad answers in a row that take it out; 0 means 3
	Up         int    `json:"up,omitempty"`          // good answers in a row that bring it back; 0 means 2
}

// Queue holds calls while every usable member is at its cap or asked for quiet. It is served in order of arrival.
type Queue struct {
	Length    int   `json:"length,omitempty"`      // calls; 0 means 128, -1 no queue
	MaxWaitMS int64 `json:"max_wait_ms,omitempty"` // milliseconds one attempt waits for a member; 0 means 2,000
}

// Target returns the upstream that stands for id, which names an upstream or a pool: itself, or the pool's first member that
// exists. Dialect and Simulator are the same for all members.
func (c *Current) Target(id string) (UpstreamSpec, bool) {
	if pool, ok := c.Pools[id]; ok {
		for _, m := range pool.Members {
			if spec, ok := c.Upstreams[m.Upstream]; ok {
				return spec, true
			}
		}
		return UpstreamSpec{}, false
	}
	spec, ok := c.Upstreams[id]
	return spec, ok
}
