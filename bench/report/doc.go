// Package report holds what a comparison measured: the figures of every proxy beside each other, as ratios to nginx, with the raw
// results and the machine they come from. It prints the table and writes the file; the files lie in results/.
//
// It measures nothing itself. Its values are plain data and need no care beyond that of any struct.
//
// A machine that does not tell something about itself leaves that field empty.
package report
