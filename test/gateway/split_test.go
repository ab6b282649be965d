package gateway

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func weighted(weights ...uint32) []Destination {
	var list []Destination
	for _, w := range weights {
		list = append(list, Destination{Name: "x", Weight: w})
	}
	return list
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		name    string
		weights []uint32
		parts   []int
	}{
		{"one gets all", []uint32{0}, []int{1}},
		{"one gets all whatever its weight", []uint32{7}, []int{1}},
		{"given", []uint32{90, 10}, []int{90, 10}},
		{"the rest goes to the one without", []uint32{50, 25, 0}, []int{50, 25, 25}},
		{"those without share", []uint32{70, 0, 0}, []int{140, 30, 30}},
		{"none gives any", []uint32{0, 0, 0}, []int{100, 100, 100}},
		{"all to the first", []uint32{100, 0}, []int{100, 0}},
		{"nothing is left", []uint32{60, 40, 0}, []int{60, 40, 0}},
		{"at least one percent", []uint32{99, 0, 0}, []int{198, 2, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := newSplit(weighted(tt.weights...))
			if err != nil || !slices.Equal(s.parts, tt.parts) {
				t.Errorf("parts %v, %v; want %v", s.parts, err, tt.parts)
			}
		})
	}
}

// Every draw picks some destination, and each is picked by as many draws as it has parts.
func TestPickFollowsTheParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Uint32Range(0, 40), 1, 6).Draw(t, "weights")
		destinations := weighted(weights...)
		for i := range destinations {
			destinations[i].Name = string(rune('a' + i))
		}
		s, err := newSplit(destinations)
		if err != nil {
			return
		}
		picked := map[string]int{}
		for n := range s.total {
			picked[s.pick(func(int) int { return n }).Name]++
		}
		for i, d := range destinations {
			if picked[d.Name] != s.parts[i] {
				t.Fatalf("%v: %s is picked %d times, has %d parts", weights, d.Name, picked[d.Name], s.parts[i])
			}
		}
	})
}
