package compare

import "time"

const (
	repeatsMax = 9

	unaryConnections = 64
	unaryBytes       = 1024
	unaryBytesLeast  = 256 // a gateway answers with the text alone
	unaryWait        = 5 * time.Second

	burstStreams    = 64
	burstBatch      = 32 // events in one write of the simulator
	burstLimit      = 60 * time.Second
	manyStreams     = 5_000
	someStreams     = 1_000
	eventBytes      = 250
	loneSpare       = 700 * time.Millisecond // that streams stay open behind the measurement
	leavers         = 200
	leaveOpenOver   = 300 * time.Millisecond
	leaveEvents     = 2
	leaveSettle     = 300 * time.Millisecond
	leaveLimit      = 20 * time.Second
	giveUpWait      = 3 * time.Second // then the upstream is taken as kept
	giveUpPoll      = 2 * time.Millisecond
	forever         = time.Hour // of a silent model
	endless         = 1_000_000 // events of a stream that does not end
	descriptorsEach = 2         // of a proxy for each stream
	descriptorsMore = 1_000

	warmUpCalls       = 64
	warmUpConns       = 8
	mockRest          = 100 * time.Millisecond // for proxies to see that their idle connections were closed
	quietWait         = 10 * time.Second       // for the simulator's last call to end
	quietPoll         = 10 * time.Millisecond
	callWait          = 10 * time.Second
	startWait         = 3 * time.Minute // of our stack, its database included
	stopWait          = 5 * time.Second
	answerBytesMax    = 1 << 20
	profileSeconds    = 3
	profileBytesMax   = 64 << 20
	limitPerMinute    = 100_000_000
	limitPerDay       = 1_000_000_000
	limitInFlight     = 1_000_000
	appCallsPerMinute = 1_000_000
)
