package ingest_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/shared/plane"
)

// BenchmarkTake is uploads as a busy node sends them, and as large as they are when it has fallen behind, decoded
// and counted in the database. Apps have 3 keys each, drawn evenly, which is the worst: every upload touches nearly every key.
// cpu-us/record is the control plane's own CPU time, db-us/record that of the database's processes on this machine, and
// records/core how many records a second one core counts with both on it; rows is how many rollup rows there are in the end.
func BenchmarkTake(b *testing.B) {
	for _, apps := range []int{5, 100, 1000} {
		for _, each := range []int{5_000, 25_000} {
			b.Run(fmt.Sprintf("apps=%d/records=%d", apps, each), func(b *testing.B) { benchmark(b, apps, each) })
		}
	}
}

func benchmark(b *testing.B, apps, each int) {
	f := newFixture(b, false)
	records := traffic(rand.New(rand.NewPCG(1, 1)), each, apps, f.now)
	for i := range records {
		records[i].At = f.now.Add(-time.Duration(each-i) * time.Second / time.Duration(each))
	}
	var own time.Duration
	db := f.databaseCPU()
	b.ResetTimer()
	for i := range b.N {
		b.StopTimer()
		body := renewed(records, i)
		before := cpu()
		b.StartTimer()
		ack, err := f.replicas[0].Take(b.Context(), f.upload(fmt.Sprint(i)), bytes.NewReader(body))
		if err != nil || ack.Seq != uint64(each) {
			b.Fatal(ack, err)
		}
		own += cpu() - before
	}
	b.StopTimer()
	its := f.databaseCPU() - db
	n := float64(b.N * each)
	b.ReportMetric(float64(own.Microseconds())/n, "cpu-us/record")
	b.ReportMetric(float64(its.Microseconds())/n, "db-us/record")
	b.ReportMetric(n/(own+its).Seconds(), "records/core")
	b.ReportMetric(n/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(f.number("SELECT (SELECT count(*) FROM usage_minute) + (SELECT count(*) FROM usage_hour) + (SELECT count(*) FROM usage_day)")), "rows")
}

// renewed is an upload of the records as other calls, which are new to the log of calls.
func renewed(records []plane.UsageRecord, upload int) []byte {
	for i := range records {
		records[i].RequestID = fmt.Sprintf("req_%010d_%010d", upload, i)
	}
	return compress(encode(records))
}

// cpu is the CPU time of this process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// databaseCPU is the CPU time of the processes that serve this test's database; 0 if they are not PostgreSQL's on this machine.
func (f *fixture) databaseCPU() (sum time.Duration) {
	f.t.Helper()
	rows, err := f.db.Query(f.t.Context(), `SELECT pid::INT8 FROM pg_stat_activity WHERE datname = current_database()`)
	if err != nil {
		f.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var pid int64
		if err := rows.Scan(&pid); err != nil {
			f.t.Fatal(err)
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		for _, field := range fields[11:13] { // utime and stime, in hundredths of a second
			ticks, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				f.t.Fatal(err)
			}
			sum += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return sum
}
