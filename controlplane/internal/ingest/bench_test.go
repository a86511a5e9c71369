package ingest_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// BenchmarkTake is one upload of 5,000 records of one second, as a busy node sends them, decoded and counted in the database.
// Apps have 3 keys each. cpu-us/record is the control plane's own CPU time, without the database's; rows is how many rollup
// rows one upload touches.
func BenchmarkTake(b *testing.B) {
	for _, apps := range []int{5, 100} {
		b.Run(fmt.Sprintf("%d apps", apps), func(b *testing.B) { benchmark(b, apps) })
	}
}

func benchmark(b *testing.B, apps int) {
	const each = 5_000
	f := newFixture(b, false)
	records := traffic(rand.New(rand.NewPCG(1, 1)), each, apps, f.now)
	for i := range records {
		records[i].At = f.now.Add(-time.Duration(each-i) * time.Second / each)
	}
	body := compress(encode(records))
	b.SetBytes(int64(len(body)))
	before := cpu()
	b.ResetTimer()
	for i := range b.N {
		ack, err := f.replicas[0].Take(b.Context(), f.upload(fmt.Sprint(i)), bytes.NewReader(body))
		if err != nil || ack.Seq != each {
			b.Fatal(ack, err)
		}
	}
	b.StopTimer()
	n := float64(b.N) * each
	b.ReportMetric(float64((cpu()-before).Microseconds())/n, "cpu-us/record")
	b.ReportMetric(n/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(f.number("SELECT count(*) FROM usage_hour")+f.number("SELECT count(*) FROM usage_day")), "rows")
}

// cpu is the CPU time of this process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
