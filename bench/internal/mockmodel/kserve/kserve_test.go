package kserve

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
)

func toModel(model string) *http.Request {
	r := httptest.NewRequest("POST", "/kserve/v2/models/"+model+"/infer", nil)
	r.SetPathValue("model", model)
	return r
}

func TestTheModelsNameSaysTheShape(t *testing.T) {
	const body = `{"inputs":[{"name":"in","shape":[1],"datatype":"BYTES","data":["aGk="]}],"outputs":[{"name":"out"}]}`
	text, err := Answer(toModel("depth-2x3"), []byte(body))
	var answer struct {
		Outputs []struct {
			Name  string    `json:"name"`
			Shape []int     `json:"shape"`
			Data  []float64 `json:"data"`
		} `json:"outputs"`
	}
	if err != nil || json.Unmarshal(text, &answer) != nil || len(answer.Outputs) != 1 {
		t.Fatalf("%s, %v", text, err)
	}
	if o := answer.Outputs[0]; o.Name != "out" || len(o.Shape) != 3 || o.Shape[2] != 3 || len(o.Data) != 6 || o.Data[0] <= 0 {
		t.Errorf("output %+v", o)
	}
	for model, bad := range map[string]string{"depth": body, "poem-3": body, "scores-0": body, "scores-99999999": body, "scores-3": `{}`} {
		if _, err := Answer(toModel(model), []byte(bad)); err == nil {
			t.Errorf("%s is answered", model)
		}
	}
}
