package replica

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/hashicorp/raft"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

const sharedLimit = 100

// taken is the answer to a node that wanted one token more. What is left is known only if the answer is to the first attempt.
type taken struct {
	granted bool
	avail   int64
	exact   bool
}

// oneByOne is the limit as a variable: the number of tokens taken.
var oneByOne = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, _, output any) (bool, any) {
		n, out := state.(int64), output.(taken)
		if !out.granted {
			return n == sharedLimit, n
		}
		n++
		return n <= sharedLimit && (!out.exact || out.avail == sharedLimit-n), n
	},
	DescribeOperation: func(_, output any) string { return fmt.Sprintf("%+v", output) },
}

// Grants on three replicas whose leadership is moved about all the time are those of one variable, and no token is lost.
func TestGrantsAreLinearizable(t *testing.T) {
	members := three(t)
	leader := func() *member {
		for {
			for _, m := range members {
				if m.Raft().State() == raft.Leader {
					return m
				}
			}
			time.Sleep(time.Millisecond)
		}
	}
	leader().ready(t)
	begin := time.Now()
	stop := make(chan struct{})
	var mover, clients sync.WaitGroup
	moves := 0
	mover.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(60 * time.Millisecond):
				if leader().Raft().LeadershipTransfer().Error() == nil {
					moves++
				}
			}
		}
	})
	var mu sync.Mutex
	var history []porcupine.Operation
	total := 0
	for id := range 4 {
		clients.Go(func() {
			seq, held := uint64(0), int64(0)
			for range 40 {
				op := porcupine.Operation{ClientId: id, Call: time.Since(begin).Nanoseconds()}
				for attempt := 0; ; attempt++ {
					seq++
					reply, err := members[(id+attempt)%3].ask(frameOf(uint64(id+1), seq, held+1), 50*time.Millisecond)
					if err != nil {
						if errors.Is(err, ErrNotLeader) {
							time.Sleep(500 * time.Microsecond)
						}
						continue
					}
					if reply.Status != ledger.Accepted {
						t.Errorf("status %d", reply.Status)
						return
					}
					g := reply.Grants[0]
					op.Output = taken{g.Granted == held+1, g.Avail, attempt == 0}
					held = g.Granted
					break
				}
				op.Return = time.Since(begin).Nanoseconds()
				time.Sleep(5 * time.Millisecond)
				mu.Lock()
				history = append(history, op)
				mu.Unlock()
			}
			mu.Lock()
			total += int(held)
			mu.Unlock()
		})
	}
	clients.Wait()
	close(stop)
	mover.Wait()
	if total != sharedLimit {
		t.Errorf("%d tokens of %d were granted", total, sharedLimit)
	}
	if result := porcupine.CheckOperationsTimeout(oneByOne, history, 20*time.Second); result != porcupine.Ok {
		t.Errorf("%d operations over %d leadership transfers: %s", len(history), moves, result)
	}
	bad := append([]porcupine.Operation(nil), history...)
	for i := range bad {
		if out := bad[i].Output.(taken); !out.granted {
			bad[i].Output = taken{granted: true}
			break
		}
	}
	if porcupine.CheckOperationsTimeout(oneByOne, bad, 20*time.Second) == porcupine.Ok {
		t.Error("the check takes anything")
	}
	if moves == 0 {
		t.Error("the leadership never moved")
	}
	t.Logf("%d operations, %d leadership transfers, %s", len(history), moves, time.Since(begin).Round(time.Millisecond))
}
