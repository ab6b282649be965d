package plugin_test

import (
	"bytes"
	"encoding/gob"
	"errors"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
)

// wire carries Rollouts as net/rpc does.
var wire = newWire()

type gobWire struct {
	pipe    bytes.Buffer
	encoder *gob.Encoder
	decoder *gob.Decoder
}

func newWire() *gobWire {
	w := &gobWire{}
	w.encoder, w.decoder = gob.NewEncoder(&w.pipe), gob.NewDecoder(&w.pipe)
	return w
}

// overRPC returns a Rollout as it arrives at the plugin: pointers to zero are nil there.
func overRPC(sent *v1alpha1.Rollout) *v1alpha1.Rollout {
	received := &v1alpha1.Rollout{}
	if err := errors.Join(wire.encoder.Encode(sent), wire.decoder.Decode(received)); err != nil {
		panic(err)
	}
	return received
}
