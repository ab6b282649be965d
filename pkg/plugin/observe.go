package plugin

import "time"

// Outcomes of calls, as Options.Observe is told. VerifyWeight has one of the last three where nothing is wrong.
const (
	OutcomeDone = "done"
	// OutcomeError is of what a person has to mend; also of VerifyWeight, which never returns an error.
	OutcomeError          = "error"
	OutcomeVerified       = "verified"
	OutcomeNotVerified    = "not_verified"
	OutcomeNotImplemented = "not_implemented"
)

// Methods of the interface, as logs and metrics name them.
const (
	verbSetWeight           = "SetWeight"
	verbVerifyWeight        = "VerifyWeight"
	verbUpdateHash          = "UpdateHash"
	verbSetHeaderRoute      = "SetHeaderRoute"
	verbSetMirrorRoute      = "SetMirrorRoute"
	verbRemoveManagedRoutes = "RemoveManagedRoutes"
)

func outcomeOf(err error) string {
	if err != nil {
		return OutcomeError
	}
	return OutcomeDone
}

func (r *Router) observe(verb string, began time.Time, outcome string) {
	if r.options.Observe != nil {
		r.options.Observe(verb, outcome, time.Since(began))
	}
}
