package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var atTen = reading{
	title: "setWeight 10", asked: 10, table: []weight{{"demo", new(int64(90))}, {"demo-canary", new(int64(10))}},
	requests: 2000, services: map[string]int{"demo": 1803, "demo-canary": 197},
	images: map[string]int{"argoproj/rollouts-demo:blue": 1803, "argoproj/rollouts-demo:yellow": 197},
}

func TestKeepOnPlainOutput(t *testing.T) {
	out := &strings.Builder{}
	s := &screen{out: out}
	s.paint(atTen)
	s.keep(atTen)
	s.keep(reading{title: "at rest", table: []weight{{"demo", nil}}, requests: 1000, services: map[string]int{"demo": 1000},
		images: map[string]int{"argoproj/rollouts-demo:blue": 1000}})
	want := `setWeight 10: canary asked for 10, table 10 (demo 90, demo-canary 10), measured 9.8 (2,000 requests: blue 90.2, yellow 9.8)
at rest: canary asked for 0, table 0 (demo), measured 0.0 (1,000 requests: blue 100.0)
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}

func TestFrameInTerminal(t *testing.T) {
	out := &strings.Builder{}
	s := &screen{out: out, terminal: true}
	s.keep(atTen)
	bars := strings.Repeat("█", 2) + strings.Repeat("░", 18)
	want := "\r\x1b[K\n\r\x1b[KsetWeight 10\n" +
		"\r\x1b[K  asked for " + bars + "    10\n" +
		"\r\x1b[K  table     " + bars + "    10   demo 90, demo-canary 10\n" +
		"\r\x1b[K  measured  " + bars + "   9.8   2,000 requests: blue 90.2, yellow 9.8\n"
	if out.String() != want {
		t.Errorf("got\n%q\nwant\n%q", out, want)
	}
}

func TestFrameIsPaintedOver(t *testing.T) {
	out := &strings.Builder{}
	s := &screen{out: out, terminal: true}
	waiting := atTen
	waiting.requests = 0
	s.paint(waiting)
	first := out.Len()
	s.keep(atTen)
	s.keep(atTen)
	again := out.String()[first:]
	if !strings.HasPrefix(again, "\x1b[5A") || strings.Count(again, "\x1b[5A") != 1 {
		t.Errorf("want the second frame over the first, and the third below; got %q", again)
	}
}

func TestBar(t *testing.T) {
	for share, want := range map[float64]int{0: 0, 0.1: 1, 10: 2, 50: 10, 99.9: 19, 100: 20} {
		if got := strings.Count((&screen{}).bar(share), "█"); got != want {
			t.Errorf("bar(%v) has %d full cells, want %d", share, got, want)
		}
	}
}

func TestColorOnlyInTerminal(t *testing.T) {
	if strings.Contains((&screen{terminal: true}).bar(50), "\x1b") {
		t.Error("color though there is to be none")
	}
	if !strings.Contains((&screen{terminal: true, color: true}).bar(50), "\x1b[33m") {
		t.Error("no color in a terminal")
	}
}

func TestNewScreen(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if s := newScreen(file); s.terminal || s.color {
		t.Errorf("a file is taken for a terminal: %+v", s)
	}
	device, err := os.Open(os.DevNull) // a character device as a terminal is one
	if err != nil {
		t.Skip(err)
	}
	defer device.Close()
	for _, tt := range []struct {
		noColor, term   string
		terminal, color bool
	}{
		{"", "xterm", true, true},
		{"1", "xterm", true, false},
		{"", "dumb", false, false},
	} {
		t.Setenv("NO_COLOR", tt.noColor)
		t.Setenv("TERM", tt.term)
		if s := newScreen(device); s.terminal != tt.terminal || s.color != tt.color {
			t.Errorf("NO_COLOR=%q TERM=%q: terminal %t, color %t", tt.noColor, tt.term, s.terminal, s.color)
		}
	}
}
