package testbed

import (
	"os"
	"regexp"
	"strings"
)

// Log is the text of a program's log up to some moment; of the controller's, the lines of its plugins included.
type Log string

// readLog reads a file. The log is empty if it cannot be read.
func readLog(path string) Log {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return Log(text)
}

// Contains reports whether some line contains text.
func (l Log) Contains(text string) bool { return strings.Contains(string(l), text) }

// Grep returns the lines that match the expression, which must compile.
func (l Log) Grep(expr string) []string {
	re := regexp.MustCompile(expr)
	var lines []string
	for line := range strings.Lines(string(l)) {
		if re.MatchString(line) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// Tail returns the last n lines.
func (l Log) Tail(n int) string {
	lines := strings.SplitAfter(strings.TrimSuffix(string(l), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
