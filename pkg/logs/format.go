// Package logs is how the plugin writes its log: in which format, in which words others' lines come out, and how often the
// same is said.
package logs

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// Formats of the log. The controller reads its plugins' stderr line by line, and shows each at the level that it gives in
// a way that go-plugin understands.
const (
	// Hclog is lines of JSON that go-plugin takes apart: the controller shows level, message and fields as its own.
	Hclog = "hclog"
	// Text is lines that begin with their level. Their fields are part of the message.
	Text = "text"
	// JSON is lines of JSON with level, msg and time. go-plugin knows no level in them, and shows all at debug.
	JSON = "json"
)

// Formats are all formats, the default first.
var Formats = []string{Hclog, Text, JSON}

// levels are those that can be asked for.
var levels = []string{"trace", "debug", "info", "warn", "error"}

// New returns a logger that writes to w what has at least a level. Its errors name the flag that is at fault.
func New(w io.Writer, format, level string) (hclog.Logger, error) {
	if !slices.Contains(levels, level) {
		return nil, fmt.Errorf("--log-level %s: want one of %s", level, strings.Join(levels, ", "))
	}
	options := &hclog.LoggerOptions{Level: hclog.LevelFromString(level), Output: w, JSONFormat: true}
	switch format {
	case Hclog:
	case Text:
		options.JSONFormat, options.DisableTime = false, true // the controller puts the time before the line
	case JSON:
		options.Output = plainKeys{w}
	default:
		return nil, fmt.Errorf("--log-format %s: want one of %s", format, strings.Join(Formats, ", "))
	}
	return hclog.New(options), nil
}

// plainKeys writes hclog's lines of JSON with the keys that others use. hclog sorts keys, so that these three stay first.
type plainKeys struct{ w io.Writer }

// keys are hclog's with a colon after them, which no text within a value has: a quote in one is escaped.
var keys = strings.NewReplacer(`"@level":`, `"level":`, `"@message":`, `"msg":`, `"@timestamp":`, `"time":`)

func (p plainKeys) Write(line []byte) (int, error) {
	if _, err := keys.WriteString(p.w, string(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}
