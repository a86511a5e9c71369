package mockmodel

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"
)

// ask sends a request that is no chat.
func ask(t *testing.T, method, url, body string) (status int, header http.Header, answer []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, answer
}

func TestWhatIsNoChatSaysThatItIsSimulated(t *testing.T) {
	_, addr := start(t, Config{})
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/libretranslate/translate", `{"q":"Hello","source":"auto","target":"sw"}`, 200, `"translatedText":"[simulated sw] Hello"`},
		{"POST", "/libretranslate/translate", `{"q":"Hello","source":"auto","target":"xx"}`, 400, `{"error":"xx is not supported"}`},
		{"POST", "/libretranslate/translate", `{}`, 400, "missing q"},
		{"POST", "/libretranslate/detect", `{"q":"Hello"}`, 200, `"language":"en"`},
		{"GET", "/libretranslate/languages", "", 200, `{"code":"sw","name":"sw [simulated]","targets":["am",`},
		{"GET", "/searxng/search?q=a%20b&format=json", "", 200, `"title":"[simulated] Page 1","url":"https://page1.simulated.example/a%20b"`},
		{"GET", "/searxng/search?q=a", "", 403, "format=json only"},
		{"POST", "/v1/images/generations", `{"prompt":"a","response_format":"url"}`, 400, "b64_json"},
		{"GET", "/v1/images/generations", "", 405, "Not allowed"},
		{"GET", "/searxng/search?format=json&q=[[scenario:status%20code=429%20retry-after=7]]", "", 429, "Simulated failure"},
		{"POST", "/libretranslate/translate", `{"q":"[[scenario:nonsense]]","source":"en","target":"sw"}`, 400, "unknown scenario"},
	} {
		status, header, answer := ask(t, tt.method, "http://"+addr+tt.path, tt.body)
		if status != tt.status || !strings.Contains(string(answer), tt.want) || header.Get("X-Simulator") == "" {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, status, answer)
		}
	}
}

func TestSimulatedImagesAreWholeAndOfTheirPrompt(t *testing.T) {
	_, addr := start(t, Config{})
	seen := map[string]bool{}
	for _, prompt := range []string{"a cat", "a dog", "a cat"} {
		_, _, answer := ask(t, "POST", "http://"+addr+"/v1/images/generations", `{"prompt":"`+prompt+`","response_format":"b64_json"}`)
		var got struct {
			Data []struct {
				B64 string `json:"b64_json"`
			}
		}
		if err := json.Unmarshal(answer, &got); err != nil || len(got.Data) != 1 {
			t.Fatalf("%v: %s", err, answer)
		}
		file, err := base64.StdEncoding.DecodeString(got.Data[0].B64)
		if err != nil {
			t.Fatal(err)
		}
		if picture, err := png.Decode(bytes.NewReader(file)); err != nil || picture.Bounds().Dx() != imagePixels {
			t.Errorf("%s: %v", prompt, err)
		}
		seen[got.Data[0].B64] = true
	}
	if len(seen) != 2 {
		t.Errorf("%d images for two prompts", len(seen))
	}
}
