package logs

import (
	"bytes"
	stdlog "log"
	"strings"

	"github.com/go-logr/logr"
	"github.com/hashicorp/go-hclog"
	"k8s.io/klog/v2"
)

// Adopt sends what libraries log to log: client-go by klog, others by Go's own log package. Without that they would write
// plain text, which the controller shows at debug, whatever it says. It is for the process as a whole, at its start.
func Adopt(log hclog.Logger) {
	said := NewRepeats()
	klog.SetLoggerWithOptions(logr.New(sink{log, said}), klog.ContextualLogger(true),
		klog.WriteKlogBuffer(func(line []byte) { adoptLine(log, said, line) }))
	stdlog.SetFlags(0)
	stdlog.SetOutput(complaints{log})
}

// maxVerbosity is up to which verbosity klog's lines are shown, at debug. Above it are the requests themselves, with what
// they carry.
const maxVerbosity = 4

// sink takes what is logged by klog with fields. What repeats itself is said at debug.
type sink struct {
	log  hclog.Logger
	said *Repeats
}

var _ logr.LogSink = sink{}

// Init is part of logr.LogSink.
func (s sink) Init(logr.RuntimeInfo) {}

// Enabled is part of logr.LogSink.
func (s sink) Enabled(verbosity int) bool {
	return verbosity == 0 || verbosity <= maxVerbosity && s.log.IsDebug()
}

// Info is part of logr.LogSink. A warning is only known by how it begins.
func (s sink) Info(verbosity int, message string, fields ...any) {
	text, warns := strings.CutPrefix(message, "Warning: ")
	switch {
	case warns:
		s.log.Log(s.said.Level(hclog.Warn, text, ""), text, fields...)
	case verbosity > 0:
		s.log.Debug(text, fields...)
	default:
		s.log.Info(text, fields...)
	}
}

// Error is part of logr.LogSink.
func (s sink) Error(err error, message string, fields ...any) {
	reason := ""
	if err != nil {
		reason = err.Error()
		fields = append([]any{"reason", reason}, fields...)
	}
	s.log.Log(s.said.Level(hclog.Error, message, reason), message, fields...)
}

// WithValues is part of logr.LogSink.
func (s sink) WithValues(fields ...any) logr.LogSink { return sink{s.log.With(fields...), s.said} }

// WithName is part of logr.LogSink. Names tell which part of a library speaks, which nobody asks.
func (s sink) WithName(string) logr.LogSink { return s }

// adoptLine logs a line of klog's without fields: its first letter is the level, and the message follows a bracket.
func adoptLine(log hclog.Logger, said *Repeats, line []byte) {
	head, text, found := strings.Cut(string(bytes.TrimSpace(line)), "] ")
	if !found {
		head, text = "", head
	}
	switch head[:min(1, len(head))] {
	case "I":
		log.Info(text)
	case "W":
		log.Log(said.Level(hclog.Warn, text, ""), text)
	default:
		log.Log(said.Level(hclog.Error, text, ""), text)
	}
}

// complaints takes lines of Go's log package. They have no level, and libraries that write them have something to complain of.
type complaints struct{ log hclog.Logger }

func (c complaints) Write(line []byte) (int, error) {
	c.log.Warn(string(bytes.TrimSpace(line)))
	return len(line), nil
}
