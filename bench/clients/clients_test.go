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
	var names []string
	for _, s := range scripts() {
		names = append(names, s.name)
	}
	sys.publish(t, names)
	t.Run("scripts", func(t *testing.T) {
		for _, s := range scripts() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				sys.play(t, s)
			})
		}
	})
}
