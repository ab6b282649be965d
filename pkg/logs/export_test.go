package logs

import "time"

// At makes r believe in a time.
func (r *Repeats) At(now time.Time) { r.now = func() time.Time { return now } }
