package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"
)

// screen shows readings: as bars that change in place in a terminal, as plain lines elsewhere.
type screen struct {
	out      io.Writer
	terminal bool
	color    bool
	painted  int   // how many lines the last frame has, to be painted over
	err      error // the first error of writing
}

// newScreen looks at what kind of thing file is. NO_COLOR turns colors off, whatever its value.
func newScreen(file *os.File) *screen {
	info, err := file.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	return &screen{out: file, terminal: terminal, color: terminal && os.Getenv("NO_COLOR") == ""}
}

// Write passes on what the bed says of its progress.
func (s *screen) Write(p []byte) (int, error) {
	s.print(string(p))
	return len(p), s.err
}

func (s *screen) line(text string) { s.print(text + "\n") }

func (s *screen) print(text string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.out, text)
	}
}

// paint shows a reading for the time being, in a terminal.
func (s *screen) paint(r reading) {
	if s.terminal {
		s.frame(r)
	}
}

// rest gives a person time to see what was painted.
func (s *screen) rest(ctx context.Context) {
	if !s.terminal {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(50 * time.Millisecond):
	}
}

// keep shows a reading for good.
func (s *screen) keep(r reading) {
	if s.terminal {
		s.frame(r)
		s.painted = 0
		return
	}
	s.line(fmt.Sprintf("%s: canary asked for %d, table %d (%s), measured %.1f (%s)",
		r.title, r.asked, r.tableShare(), r.tableText(), r.measuredShare(), r.measuredText()))
}

// frame paints a reading over the frame before it.
func (s *screen) frame(r reading) {
	rows := []string{
		"",
		s.paintIn(bold, r.title),
		s.row("asked for", float64(r.asked), fmt.Sprintf("%5d", r.asked), ""),
		s.row("table", float64(r.tableShare()), fmt.Sprintf("%5d", r.tableShare()), r.tableText()),
	}
	if r.requests > 0 {
		rows = append(rows, s.row("measured", r.measuredShare(), fmt.Sprintf("%5.1f", r.measuredShare()), r.measuredText()))
	} else {
		rows = append(rows, "  measured   ...")
	}
	if s.painted > 0 {
		s.print(fmt.Sprintf("\x1b[%dA", s.painted))
	}
	for _, row := range rows {
		s.print("\r\x1b[K" + row + "\n")
	}
	s.painted = len(rows)
}

// barWidth is how many cells stand for 100 percent. With it, a row fits into 80 columns.
const barWidth = 20

func (s *screen) row(name string, share float64, number, text string) string {
	return strings.TrimRight(fmt.Sprintf("  %-9s %s %s   %s", name, s.bar(share), number, text), " ")
}

// bar shows the canary's share of 100. Only none is shown as none, and only all as all.
func (s *screen) bar(share float64) string {
	cells := int(math.Round(share / 100 * barWidth))
	switch {
	case share <= 0:
		cells = 0
	case share >= 100:
		cells = barWidth
	default:
		cells = max(1, min(barWidth-1, cells))
	}
	if s.color {
		return s.paintIn(yellow, strings.Repeat("█", cells)) + s.paintIn(blue, strings.Repeat("█", barWidth-cells))
	}
	return strings.Repeat("█", cells) + strings.Repeat("░", barWidth-cells)
}

// Attributes of a terminal (ECMA-48, SGR).
const (
	bold   = "1"
	yellow = "33"
	blue   = "34"
)

func (s *screen) paintIn(attribute, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + attribute + "m" + text + "\x1b[0m"
}
