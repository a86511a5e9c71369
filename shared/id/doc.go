// Package id tells the ids of apps, keys, sessions and everything else that is kept from other text. It makes none and looks nothing up.
//
// All functions are pure and safe for concurrent use. The package depends on nothing that fails.
package id
