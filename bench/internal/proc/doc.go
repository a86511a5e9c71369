// Package proc reads what running processes have cost so far: CPU time and memory, from /proc.
//
// CPU time is the scheduler's run time of every thread, which counts nanoseconds; the clock ticks of /proc/PID/stat are
// too coarse for a window of seconds. The run time of a thread that is running at this moment is up to one tick
// old, and a thread that ends takes its time with it, so windows should be long and processes steady.
//
// It starts and stops nothing. All functions may be called from any number of goroutines.
//
// A process that has ended is an error; a thread that ends while it is read is not. Linux only.
package proc
