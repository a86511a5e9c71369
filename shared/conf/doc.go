// Package conf fills a binary's Config struct: defaults < file < environment < flags.
//
// The struct describes itself. A field tagged `conf:"listen"` is the YAML key "listen", the flag -listen and, under the
// prefix MODELGATE_CONTROLPLANE, the variable MODELGATE_CONTROLPLANE_LISTEN; `help` is its line in -help and `default`
// its value when nothing sets it. Structs, maps and lists of structs can be set by the file only. An unknown key in the
// file is an error, with its line.
//
// A [Secret] is written as file:PATH, env:NAME or the value itself; it prints as its source and never as its value.
//
// The package keeps no state. Loading happens once, before anything runs.
package conf
