package proxy

import (
	"bufio"
	"io"
	"net/http"
)

// sift lets a watch's answer through line by line, each change being one.
func (p *Proxy) sift(response *http.Response) error {
	if understand(response.Request).Verb != "watch" || response.StatusCode != http.StatusOK {
		return nil
	}
	reader, writer := io.Pipe()
	body := response.Body
	response.Body = pipe{reader, body}
	go func() {
		lines := bufio.NewReader(body)
		for {
			line, err := lines.ReadBytes('\n')
			p.mu.Lock()
			tells := p.watch
			p.mu.Unlock()
			if len(line) > 0 && (tells == nil || tells(line)) {
				if _, err := writer.Write(line); err != nil {
					return
				}
			}
			if err != nil {
				_ = writer.CloseWithError(err) // it returns none
				return
			}
		}
	}()
	return nil
}

// pipe is what is left of a body; closing it closes that too.
type pipe struct {
	*io.PipeReader
	body io.Closer
}

func (p pipe) Close() error {
	err := p.body.Close()
	_ = p.PipeReader.Close() // it returns none
	return err
}
