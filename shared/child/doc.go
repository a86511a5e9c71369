// Package child starts processes that cannot outlive the program that started them, and stops them for certain.
//
// A child leads a process group of its own, so Ctrl-C in a terminal reaches only the parent, which then stops its
// children in the order it wants. When the parent dies by whatever cause, SIGKILL included, the kernel sends each child
// the death signal it was started with.
//
// [Lock] is the matching guard against a second program: it ends with its holder too.
//
// It does not restart anything and does not look at what a child writes: supervision belongs to the caller.
//
// A Process may be used from any number of goroutines. Every running child costs one goroutine and one operating system
// thread, since the kernel ties the death signal to the thread that forked.
//
// The package depends on nothing but the kernel, and works on Linux only: the death signal exists nowhere else.
package child
