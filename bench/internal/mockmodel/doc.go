// Package mockmodel is the upstream simulator: a server that speaks the OpenAI chat-completions protocol, so that a
// gateway can be run, tested and benchmarked without a model. It never pretends to be one: every answer says that it
// is simulated, in its text, in system_fingerprint, in "simulator":true and in the header X-Simulator.
//
// # What it serves
//
//	POST /v1/chat/completions   package openai says how a request is judged and what is answered
//	GET  /v1/models             the models it answers for, and /v1/models/{model}
//	POST /v1/images/generations      a striped PNG that says it is simulated
//	POST /libretranslate/translate   the text itself, labelled; also /detect and GET /languages
//	GET  /searxng/search             pages that do not exist, with format=json
//	POST /native/...            the gateway's own contract: predictions, biometrics, vision, skills; see package native
//	POST /kserve/v2/models/{m}/infer  the Open Inference Protocol; see package kserve
//	POST /v1/audio/transcriptions   a text that tells size and hash of the file
//	POST /v1/audio/speech       a tone, as WAV
//	POST /native/voice/characteristics, /native/voice/analyze, /native/voice-id   numbers made of the recording's hash
//	GET  /health                {"status":"ok",...}, without a key
//	GET  /_mock/requests?since=N  what was received after request N; see journal.View
//	GET  /_mock/open            the number of requests being answered
//	GET  /_mock/scenarios       the catalogue of faults, as text
//	POST /_mock/reset           forget the requests, start scripts and "times" counters anew
//	POST /_mock/script          replace the script by the body
//
// With an API key set, everything but /health asks for it as a bearer token, /_mock included: the journal holds
// prompts.
//
// # Choosing a fault
//
// Gateways forward neither headers nor unknown fields, so a fault is chosen by what they do forward. In this order:
//
//  1. a token in the last user message, or anywhere in a body of another protocol: "[[scenario:cut-after n=3]]" (a chat does
//     not repeat it);
//  2. the script: lines "MODEL SCENARIO [KEY=VALUE ...]"; the first request for a model gets its first line, the
//     second the next, and the last line stays in force. Models of the script exist;
//  3. the model's name: "mock:cut-after-3" or "mock:status-429,retry-after=2" for the served model "mock".
//
// Every scenario also takes times=N, by which only the first N requests with the same choice fail and later ones
// are answered normally, and id=TEXT, which makes choices of different tests different. An unknown scenario is a
// 400, or a 404 if it was part of a model's name.
//
// # What it does not do
//
// No embeddings or legacy completions; no faults of audio; no TLS, no HTTP/2; a unary answer waits the first-token delay
// only. Requests that net/http itself refuses as malformed never reach it and lack the header.
//
// # Concurrency
//
// A Server serves any number of connections; Config must not be changed after New. Serve may be called once.
//
// # Failure
//
// A request that cannot be answered gets the protocol's error object. When the context of Serve ends, streams are
// dropped at once and Serve returns within ShutdownGrace.
package mockmodel
