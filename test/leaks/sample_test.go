package leaks

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// sample is what a process holds at a time.
type sample struct{ goroutines, descriptors, heap, resident float64 }

func (s sample) String() string {
	return fmt.Sprintf("%3.0f goroutines, %3.0f file descriptors, %5.1f MiB in use, %5.1f MiB resident",
		s.goroutines, s.descriptors, s.heap/(1<<20), s.resident/(1<<20))
}

// look reads a sample from the plugin's metrics.
func look(t *testing.T, address string) sample {
	t.Helper()
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	s := sample{}
	fields := map[string]*float64{
		"go_goroutines":                 &s.goroutines,
		"process_open_fds":              &s.descriptors,
		"go_memstats_heap_inuse_bytes":  &s.heap,
		"process_resident_memory_bytes": &s.resident,
	}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if field, wanted := fields[name]; wanted {
			if *field, err = strconv.ParseFloat(value, 64); err != nil {
				t.Fatal(err)
			}
			delete(fields, name)
		}
	}
	if len(fields) > 0 {
		t.Fatalf("the metrics lack %v", fields)
	}
	return s
}
