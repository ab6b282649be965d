package patience_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/patience"
)

func TestWait(t *testing.T) {
	for _, tt := range []struct {
		name           string
		deadline, wait time.Duration
		cancelled      time.Duration // 0: never
		lasted         bool
		took           time.Duration
	}{
		{"there is time", 10 * time.Second, 3 * time.Second, 0, true, 3 * time.Second},
		{"there is no time", 2 * time.Second, 3 * time.Second, 0, false, 0},
		{"it would just be over", 3 * time.Second, 3 * time.Second, 0, false, 0},
		{"given up meanwhile", 10 * time.Second, 3 * time.Second, time.Second, false, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
				defer cancel()
				if tt.cancelled > 0 {
					time.AfterFunc(tt.cancelled, cancel)
				}
				began := time.Now()
				lasted := patience.Wait(ctx, tt.wait)
				if took := time.Since(began); lasted != tt.lasted || took != tt.took {
					t.Errorf("lasted %v after %v, want %v after %v", lasted, took, tt.lasted, tt.took)
				}
			})
		})
	}
}
