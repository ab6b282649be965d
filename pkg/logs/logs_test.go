package logs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	stdlog "log"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"k8s.io/klog/v2"

	"github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform/pkg/logs"
)

func TestFormats(t *testing.T) {
	for format, want := range map[string]string{
		logs.Hclog: `{"@level":"warn","@message":"say \"@level\": once","@timestamp":"TIME","from":100,"rollout":"apps/web"}` + "\n",
		logs.Text:  `[WARN]  say "@level": once: rollout=apps/web from=100` + "\n",
		logs.JSON:  `{"level":"warn","msg":"say \"@level\": once","time":"TIME","from":100,"rollout":"apps/web"}` + "\n",
	} {
		t.Run(format, func(t *testing.T) {
			out := bytes.Buffer{}
			log, err := logs.New(&out, format, "info")
			if err != nil {
				t.Fatal(err)
			}
			log.Debug("less")
			log.Warn(`say "@level": once`, "rollout", "apps/web", "from", 100)
			if got := withoutTime(t, out.String()); got != want {
				t.Errorf("got  %swant %s", got, want)
			}
		})
	}
}

// withoutTime replaces the time in a line of JSON, which must be as go-plugin reads it.
func withoutTime(t *testing.T, line string) string {
	t.Helper()
	fields := map[string]any{}
	if json.Unmarshal([]byte(line), &fields) != nil {
		return line
	}
	for _, key := range []string{"@timestamp", "time"} {
		if at, found := fields[key].(string); found {
			if _, err := time.Parse("2006-01-02T15:04:05.000000Z07:00", at); err != nil {
				t.Error(err)
			}
			line = strings.Replace(line, at, "TIME", 1)
		}
	}
	return line
}

func TestFlagsThatAreNotUnderstood(t *testing.T) {
	for _, tt := range []struct{ format, level, want string }{
		{"logfmt", "info", "--log-format logfmt: want one of hclog, text, json"},
		{"hclog", "warning", "--log-level warning: want one of trace, debug, info, warn, error"},
	} {
		if _, err := logs.New(&bytes.Buffer{}, tt.format, tt.level); err == nil || err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
}

// What libraries say has the level that they give it, and what they repeat is said at debug.
func TestAdopt(t *testing.T) {
	out := bytes.Buffer{}
	log, err := logs.New(&out, logs.Text, "debug")
	if err != nil {
		t.Fatal(err)
	}
	logs.Adopt(log)
	ctx := klog.NewContext(context.Background(), klog.LoggerWithValues(klog.LoggerWithName(klog.Background(), "UnhandledError"), "part", 1))
	for _, tt := range []struct {
		say  func()
		want string
	}{
		{func() { klog.Infof("one %d", 1) }, "[INFO]  one 1"},
		{func() { klog.Warning("two") }, "[WARN]  two"},
		{func() { klog.Warning("two") }, "[DEBUG] two"},
		{func() { klog.Errorf("three [a] b") }, "[ERROR] three [a] b"},
		{func() { klog.InfoS("four", "type", "routetables") }, "[INFO]  four: type=routetables"},
		{func() { klog.ErrorS(errors.New("no"), "five", "type", "routetables") }, "[ERROR] five: reason=no type=routetables"},
		{func() { klog.FromContext(ctx).Error(errors.New("no"), "six") }, "[ERROR] six: part=1 reason=no"},
		{func() { klog.FromContext(ctx).Error(errors.New("no"), "six") }, "[DEBUG] six: part=1 reason=no"},
		{func() { klog.FromContext(ctx).Error(errors.New("yes"), "six") }, "[ERROR] six: part=1 reason=yes"},
		{func() { klog.FromContext(ctx).Error(nil, "seven") }, "[ERROR] seven: part=1"},
		{func() { klog.FromContext(ctx).Info("Warning: eight") }, "[WARN]  eight: part=1"},
		{func() { klog.FromContext(ctx).V(4).Info("nine") }, "[DEBUG] nine: part=1"},
		{func() { klog.FromContext(ctx).V(8).Info("the body of a request") }, ""},
		{func() { stdlog.Print("ten\n") }, "[WARN]  ten"},
	} {
		out.Reset()
		tt.say()
		if got := strings.TrimSuffix(out.String(), "\n"); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestWhatIsRepeatedIsSaidOnce(t *testing.T) {
	r, began := logs.NewRepeats(), time.Now()
	const news, old = hclog.Warn, hclog.Debug
	for i, tt := range []struct {
		after       time.Duration
		thing, text string
		want        hclog.Level
	}{
		{0, "web", "no table", news},
		{time.Second, "web", "no table", old},
		{time.Second, "shop", "no table", news},
		{2 * time.Second, "web", "no route", news},
		{3 * time.Second, "web", "no table", news},
		{time.Hour, "web", "no table", old},
		{time.Hour + 4*time.Second, "web", "no table", news},
		{time.Hour + 5*time.Second, "web", "over", 0},
		{time.Hour + 6*time.Second, "web", "no table", news},
	} {
		r.At(began.Add(tt.after))
		if tt.text == "over" {
			r.Over(tt.thing)
		} else if got := r.Level(hclog.Warn, tt.thing, tt.text); got != tt.want {
			t.Errorf("%d: of %s, %q is said at %s, want %s", i, tt.thing, tt.text, got, tt.want)
		}
	}
}

// Something that is said of very many things fills no memory; what was forgotten is said once more.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	r := logs.NewRepeats()
	for i := range 20_000 {
		r.Level(hclog.Warn, fmt.Sprint(i), "no table")
	}
	if first, last := r.Level(hclog.Warn, "0", "no table"), r.Level(hclog.Warn, "19999", "no table"); first != hclog.Warn || last != hclog.Debug {
		t.Errorf("the first is said at %s and the last at %s, want warn and debug", first, last)
	}
}
