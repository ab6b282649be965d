package gloo_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/engine"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/gloo"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/intent"
	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/test/steps"
)

// manyRoutes returns a table of so many routes as companies have them, all of which forward to stable.
func manyRoutes(n int) []byte {
	routes := make([]string, n)
	for i := range routes {
		routes[i] = fmt.Sprintf(`{"name":"route-%[1]d","labels":{"route":"route-%[1]d","auth":"true"},
"matchers":[{"uri":{"prefix":"/api/v1/resource-%[1]d"},"headers":[{"name":"x-tenant","value":"%[1]d"}],"method":"GET"}],
"forwardTo":{"pathRewrite":"/resource-%[1]d","destinations":[{"ref":{"name":"web"},"port":{"number":8080}}]}}`, i)
	}
	return fmt.Appendf(nil, `{"apiVersion":"networking.gloo.solo.io/v2","kind":"RouteTable","metadata":{"name":"demo","namespace":"apps","resourceVersion":"7"},
"spec":{"hosts":["shop.example.com"],"virtualGateways":[{"name":"main","namespace":"gateways"}],"http":[%s]}}`, strings.Join(routes, ","))
}

// planned decodes a table and plans on it.
func planned(t testing.TB, raw []byte, in intent.Intent) engine.Plan {
	t.Helper()
	o, err := engine.ReadObject(raw)
	if err != nil {
		t.Fatalf("%v", err)
	}
	plan, err := engine.MakePlan(gloo.RouteTables{}, o, engine.Selection{}, in)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return plan
}

// What a first step costs on a table, decoding included, where it changes every route.
func BenchmarkPlan(b *testing.B) {
	for _, routes := range []int{20, 300, 3000} {
		b.Run(fmt.Sprintf("%d_routes", routes), func(b *testing.B) {
			raw := manyRoutes(routes)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				planned(b, raw, canary(10))
			}
		})
	}
}

// Ten times the routes cost ten times as much, as far as memory tells: nothing goes through all routes for each of them.
func TestPlanIsLinearInRoutes(t *testing.T) {
	for name, in := range map[string]intent.Intent{"weights": canary(10), "headers": withHeaders(steps.Header("beta", steps.Exact("x-beta", "yes")))} {
		memory := func(routes int) (bytes, times uint64) {
			raw := manyRoutes(routes)
			planned(t, raw, in) // what is allocated once
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			planned(t, raw, in)
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs
		}
		bytes, times := memory(100)
		if bytesOfMore, timesOfMore := memory(1000); bytesOfMore > 12*bytes || timesOfMore > 12*times {
			t.Errorf("%s: a plan of 100 routes allocates %d times %d bytes in all, one of 1,000 %d times %d bytes", name, times, bytes, timesOfMore, bytesOfMore)
		}
	}
}
