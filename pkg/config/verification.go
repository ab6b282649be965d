package config

import (
	"encoding/json"
	"fmt"
)

// Verification is what a step waits for before it is done.
type Verification string

// What a step may wait for.
const (
	// VerifyAccepted waits until the control plane has accepted the objects as they were written.
	VerifyAccepted Verification = "Accepted"
	// VerifySpec waits until the objects hold what was asked for.
	VerifySpec Verification = "Spec"
	// VerifyOff waits for nothing.
	VerifyOff Verification = "Off"
)

var verifications = []string{string(VerifyAccepted), string(VerifySpec), string(VerifyOff)}

// UnmarshalJSON reads a verification. YAML makes false of an Off without quotes, so that is taken for it.
func (v *Verification) UnmarshalJSON(data []byte) error {
	if string(data) == "false" {
		*v = VerifyOff
		return nil
	}
	text := ""
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("verify: found %s, want one of Accepted, Spec, Off", data)
	}
	*v = Verification(text)
	return nil
}
