// Command controlplane is the control plane of Modelgate: the developer portal's interface, the keys and limits that the
// gateway nodes follow, and the usage they report. The same binary has the operator's commands, which work on the
// database and so take effect on running servers without a restart.
//
// This package is flags and wiring: what the parts do and how they fail is written in their packages.
package main
