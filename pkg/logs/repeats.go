package logs

import (
	"hash/maphash"
	"time"

	"github.com/hashicorp/go-hclog"
	"k8s.io/utils/lru"
)

const (
	// maxRepeats is of how many things it is remembered what was said last. What is forgotten is said once more.
	maxRepeats = 10_000
	// reminder is after what time something is said once more though it is still the same.
	reminder = time.Hour
)

// Repeats remembers what was said, so that a log is not filled with what is still the case: the same is said at debug until
// it is another thing, or over, or was said an hour ago. It is safe for concurrent use.
type Repeats struct {
	said *lru.Cache // of saying
	seed maphash.Seed
	now  func() time.Time
}

// saying is what was said of something, as a hash, and when.
type saying struct {
	text uint64
	at   time.Time
}

// NewRepeats returns a memory of nothing.
func NewRepeats() *Repeats {
	return &Repeats{said: lru.New(maxRepeats), seed: maphash.MakeSeed(), now: time.Now}
}

// Level returns at which level to say text of a thing: at the given one if it is news, else at debug.
func (r *Repeats) Level(level hclog.Level, thing, text string) hclog.Level {
	now := saying{maphash.String(r.seed, text), r.now()}
	if last, found := r.said.Get(thing); found && last.(saying).text == now.text && now.at.Sub(last.(saying).at) < reminder {
		return hclog.Debug
	}
	r.said.Add(thing, now)
	return level
}

// Over notes that nothing is to be said of a thing any more. Should that change, it is news.
func (r *Repeats) Over(thing string) { r.said.Remove(thing) }
