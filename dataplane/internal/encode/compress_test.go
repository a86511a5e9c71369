package encode

import "testing"

func TestNegotiation(t *testing.T) {
	for _, tt := range []struct {
		accept []string
		want   string
	}{
		{nil, ""},
		{[]string{""}, ""},
		{[]string{"gzip"}, "gzip"},
		{[]string{"GZIP , br"}, "gzip"},
		{[]string{"gzip, deflate, br, zstd"}, "zstd"},
		{[]string{"gzip", "zstd"}, "zstd"},
		{[]string{"zstd;q=0.5, gzip"}, "gzip"},
		{[]string{"zstd ; Q=0.5, gzip ;q=0.4"}, "zstd"},
		{[]string{"gzip;q=0"}, ""},
		{[]string{"gzip;q=0, *"}, "zstd"},
		{[]string{"zstd;q=0, *"}, "gzip"},
		{[]string{"*;q=0"}, ""},
		{[]string{"*;q=0, gzip"}, "gzip"},
		{[]string{"identity, gzip;q=0.5"}, ""},
		{[]string{"identity;q=0.5, gzip"}, "gzip"},
		{[]string{"identity, gzip"}, "gzip"},
		{[]string{"identity"}, ""},
		{[]string{"gzip;q=nan"}, ""},
		{[]string{"gzip;q=2"}, ""},
		{[]string{"gzip;x=1"}, ""},
		{[]string{"x-gzip, gzipped, ;;,"}, ""},
	} {
		var fields [][]byte
		for _, a := range tt.accept {
			fields = append(fields, []byte(a))
		}
		if got := negotiate(fields); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.accept, got, tt.want)
		}
	}
}
