package intent

// Label is a label by which an object shows that a release is under way.
type Label struct {
	// Key is empty where there is to be none.
	Key   string `json:"key"`
	Value string `json:"value"`
}
