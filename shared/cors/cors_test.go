package cors_test

import (
	"strings"
	"testing"

	"modelgate.internal/shared/cors"
)

func TestAListIsAllowedByItsOwnText(t *testing.T) {
	for _, asked := range []string{
		"authorization", "authorization,content-type,x-stainless-arch,traceparent", "A, b ,\tc", "x-!#$%&'*+-.^_`|~9",
		strings.Repeat("a", cors.AskedBytesMax),
	} {
		if got := string(cors.Allowed([]byte(asked))); got != asked {
			t.Errorf("%.40q: got %.40q", asked, got)
		}
	}
	for _, asked := range []string{
		"", " ", ",", "a,", ",a", "a,,b", "a b", "a;b", "a:b", "a\r\nset-cookie:b", "ä", `"a"`, "a\x00", strings.Repeat("a", cors.AskedBytesMax+1),
	} {
		if got := string(cors.Allowed([]byte(asked))); got != cors.Headers {
			t.Errorf("%.40q: got %.40q", asked, got)
		}
	}
}
