package child

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a running or ended child.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // what Wait said; set before done closes
}

// Step is one attempt to make a child end: a signal and how long to wait for it to work.
type Step struct {
	Signal syscall.Signal
	Wait   time.Duration
}

// Start starts cmd in a process group of its own and arranges for death to be sent to it when this program dies. It
// changes cmd.SysProcAttr, keeping a Credential found there, and takes over cmd.Wait.
func Start(cmd *exec.Cmd, death syscall.Signal) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = death

	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The death signal is sent when the forking thread ends, so this goroutine keeps its thread until the child is
		// gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		// Whatever the child left behind in its group goes with it.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Pid is the process id, also after the end.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is why the process ended: nil for exit status 0, an *exec.ExitError otherwise. It waits for the end.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Running reports whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Stop takes the steps in turn until the process ends, and kills its whole group when none of them helped. It returns
// when the process is gone, and at once when it was gone before.
func (p *Process) Stop(steps ...Step) {
	for _, step := range steps {
		if !p.Running() {
			return
		}
		_ = p.cmd.Process.Signal(step.Signal) // fails only when the process has just ended
		select {
		case <-p.done:
			return
		case <-time.After(step.Wait):
		}
	}
	if p.Running() {
		_ = syscall.Kill(-p.Pid(), syscall.SIGKILL)
	}
	<-p.done
}
