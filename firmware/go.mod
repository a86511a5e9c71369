module modelgate.internal/firmware

go 1.26

replace modelgate.internal/shared => ../shared
