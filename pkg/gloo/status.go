package gloo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/jsonfault"
)

// statusView is what is read of a RouteTable, or of a MirrorPolicy, to learn whether Gloo has taken it.
type statusView struct {
	Kind string `json:"kind"`
	Spec struct {
		FailureMode string            `json:"failureMode"`
		Hosts       []json.RawMessage `json:"hosts"`
	} `json:"spec"`
	Status struct {
		Common struct {
			State *state `json:"State"`
		} `json:"common"`
	} `json:"status"`
}

// state is common.gloo.solo.io State. It comes from a protobuf: a 64-bit integer may be a string, and what has its default
// value is left out.
type state struct {
	ObservedGeneration json.RawMessage `json:"observedGeneration"`
	Approval           string          `json:"approval"`
	Message            string          `json:"message"`
}

// approvals are the values of ApprovalState (common.gloo.solo.io/v2). One that is left out is PENDING.
var approvals = map[string]engine.AcceptanceState{
	"":           engine.Pending,
	"PENDING":    engine.Pending,
	"ACCEPTED":   engine.Accepted,
	"WARNING":    engine.AcceptedWithWarning,
	"INVALID":    engine.Rejected,
	"FAILED":     engine.Rejected,
	"UNLICENSED": engine.Rejected,
}

// Acceptance reads what Gloo says of a RouteTable or a MirrorPolicy. An approval or a generation that it does not know is an error.
func (RouteTables) Acceptance(object json.RawMessage) (engine.Acceptance, error) {
	v, err := jsonfault.Read[statusView](object)
	if err != nil {
		return engine.Acceptance{}, err
	}
	s := v.Status.Common.State
	if s == nil {
		return engine.Acceptance{State: engine.Unreported}, nil
	}
	a := engine.Acceptance{Meanwhile: v.meanwhile()}
	var known bool
	if a.State, known = approvals[s.Approval]; !known {
		return a, fmt.Errorf("status.common.State.approval is %q, which this plugin does not know", s.Approval)
	}
	a.Message = s.Message
	if a.State == engine.Rejected {
		a.Message = fmt.Sprintf("%s %s", s.Approval, s.Message)
	}
	if text := bytes.Trim(s.ObservedGeneration, `"`); present(text) {
		var err error
		if a.Generation, err = strconv.ParseInt(string(text), 10, 64); err != nil {
			return a, fmt.Errorf("status.common.State.observedGeneration is %s, want an integer", s.ObservedGeneration)
		}
	}
	return a, nil
}

// meanwhile says what traffic gets while an object is not accepted: of a table, by its failureMode, which tables that are
// delegated to, and have no hosts, take from their parent (RouteTable API reference).
func (v statusView) meanwhile() string {
	switch {
	case v.Kind == RouteTables{}.Policies().Kind:
		return "until that is mended, nothing is mirrored"
	case v.Spec.FailureMode == "FREEZE_CONFIG":
		return "until that is mended, requests are served as by the last table that was accepted"
	case v.Kind == RouteTables{}.Kind() && len(v.Spec.Hosts) == 0:
		return "until that is mended, its parent table's failureMode decides: requests to its faulty routes are answered with 500, or as by the last table that was accepted"
	default:
		return "until that is mended, requests to its faulty routes are answered with 500"
	}
}
