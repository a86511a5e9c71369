package playground

import (
	"encoding/json"
	"fmt"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
)

// Operation is one of the playground's.
type Operation string

// The operations that are calls to the gateway.
const (
	Task             Operation = "playground"
	TaskStream       Operation = "playgroundStream"
	DeepSearch       Operation = "playgroundDeepSearch"
	Voice            Operation = "playgroundVoice"
	Biometrix        Operation = "playgroundBiometrix"
	DepthEstimate    Operation = "playgroundDepthEstimate"
	SpatialQuery     Operation = "playgroundSpatialQuery"
	MulticamIdentify Operation = "playgroundMulticamIdentify"
)

// question is a call as the gateway gets it.
type question struct {
	path                 string
	body                 map[string]json.RawMessage
	apiKey, appID, keyID string
}

// translate makes the gateway's request of the portal's. Errors: 422 about what the contract says of the body.
func translate(op Operation, text []byte) (question, error) {
	b := newBody(op)
	if err := bind.JSON(text, b); err != nil {
		return question{}, err
	}
	c := b.chosen()
	if err := c.check(); err != nil {
		return question{}, err
	}
	q := question{apiKey: c.APIKey, appID: c.AppID, keyID: c.KeyID}
	if err := json.Unmarshal(text, &q.body); err != nil {
		return question{}, apierr.New(apierr.BadRequest, "The body could not be read.").Because(err)
	}
	for _, name := range []string{"api_key", "app_id", "key_id"} {
		delete(q.body, name)
	}
	b.ask(&q)
	return q, nil
}

func (q *question) encode() ([]byte, error) {
	body, err := json.Marshal(q.body)
	if err != nil {
		return nil, fmt.Errorf("encode a request to the gateway: %w", err)
	}
	return body, nil
}
