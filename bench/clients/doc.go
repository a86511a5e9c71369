// Package clients has other people's software use a running system: the official OpenAI clients for Python and JavaScript (in Node, and
// in a browser from another origin), LangChain, LiteLLM, Vercel's AI SDK, and schemathesis, which calls every operation of the contract
// with data of its own making. Each is asserted what its users rely on: its own classes of errors, waiting for Retry-After, streams, tools,
// parsed answers, aborts that reach the model server. A few requests that no client here makes are written out as they go over the wire.
//
// A client is one script in python or node, which declares its checks and prints a line of JSON for each; every check is a test here,
// and one that was declared and did not report has failed. Versions are exact: python/requirements.txt and node/package-lock.json, which
// `make clients` installs into .tools/clients and node/node_modules.
//
// It holds tests only, and does not judge answers byte by byte: that is the business of the planes' transcripts.
//
// Concurrency: one stack for all, on free ports; every script has a model, an app and keys of its own, so that what the gateway learns of
// a failing model server or a used-up limit stays with it. Failure: a client that is not installed fails its test with what to run.
package clients
