package clients

import "testing"

// scripts are the clients. One that fails leaves the others alone.
func scripts() []script {
	return []script{
		{"openai-python", "python/openai_client.py"},
		{"langchain", "python/langchain_client.py"},
		{"litellm", "python/litellm_client.py"},
		{"openai-node", "node/openai_client.mjs"},
		{"openai-browser", "node/browser.mjs"},
		{"ai-sdk", "node/ai_sdk.mjs"},
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
