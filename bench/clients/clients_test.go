package clients

import "testing"

// scripts are the clients. One that fails leaves the others alone.
func scripts() []script {
	return []script{
		{name: "schemathesis-control", file: "python/contract_fuzz.py", argument: "control"},
		{name: "schemathesis-data", file: "python/contract_fuzz.py", argument: "data"},
		{name: "openai-python", file: "python/openai_client.py"},
		{name: "langchain", file: "python/langchain_client.py"},
		{name: "litellm", file: "python/litellm_client.py"},
		{name: "openai-node", file: "node/openai_client.mjs"},
		{name: "openai-browser", file: "node/browser.mjs"},
		{name: "ai-sdk", file: "node/ai_sdk.mjs"},
	}
}

func TestClients(t *testing.T) {
	sys := start(t)
	names := []string{modelOfChunks, modelOfTwo}
	for _, s := range scripts() {
		names = append(names, s.name)
	}
	sys.publish(t, names)
	t.Run("scripts", func(t *testing.T) {
		for _, s := range scripts() {
			settings := sys.settings(t, s)
			t.Run(s.name, func(t *testing.T) {
				t.Parallel() // waits for the end of this loop
				sys.play(t, s, settings)
			})
		}
	})
	// One after the other, since they fill the node.
	t.Run("a key is called with in the line after it was created", sys.nextLine)
	t.Run("a body that waits for 100 Continue", sys.expectContinue)
	t.Run("a hundred streams whose bodies come in chunks", sys.chunkedBodies)
	t.Run("calls that the model server cannot bear are their caller's alone", sys.twoAccounts)
}
