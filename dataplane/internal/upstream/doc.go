// Package upstream asks model servers and turns their answers into ours: one file per dialect, over a transport of our
// own.
package upstream
