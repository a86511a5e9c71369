// Package compare measures our gateway and the proxies of package rivals side by side: the same simulator behind them, the same load
// before them, one after the other within each repeat, so that a busy moment of the machine does not fall on one of them alone.
// Each row tells the load of the machine that it was measured at, and the report says so when others were using it.
// Its result is a report.Report.
//
// A scene is a kind of load (unary calls, bursts, lone events, clients that leave); it sets the simulator up, runs once per
// target and repeat, and fills one or more rows. What the gateway would do without anything in between is measured as the
// target "direct" where a row needs it.
//
// It judges no code and keeps no history; report.Save writes the file.
//
// One comparison runs at a time, in the calling goroutine; every process is started and stopped here by its id, and ends with this
// program whatever happens to it.
//
// A target that is missing or fails gets rows without values that say why; the others go on. Without the simulator
// nothing can be measured: that is an error.
package compare
