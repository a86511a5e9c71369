// Command load makes HTTP load on a gateway or proxy of this machine and prints what came back, as text or JSON. Its
// modes are those of package bench/internal/load: unary (closed loop, or open with -rate), stream and leave. See -help.
//
// It does no work of its own: flags, one run, one report. SIGINT and SIGTERM end it. It exits with 0 when the run was
// made and nothing was wrong, 3 when answers or streams were wrong, 2 for a wrong flag and 1 when the run failed.
package main
