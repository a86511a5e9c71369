module modelgate.internal/firmware

go 1.26

require modelgate.internal/shared v0.0.0

replace modelgate.internal/shared => ../shared
