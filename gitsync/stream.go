package gitsync

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// stream is a session over the standard input and output of a Git service that runs somewhere.
type stream struct {
	in   io.WriteCloser
	out  io.Reader
	errs *syncText
	// wait returns when the service has ended, with how; stop makes it end.
	wait func() error
	stop func()

	adv  *packp.AdvRefs
	sent bool
	over sync.Once
	died error
}

// grace is how long a service that has answered may take to end (hooks after the push).
const grace = 5 * time.Second

func (s *stream) refs() (*packp.AdvRefs, error) {
	if s.adv != nil {
		return s.adv, nil
	}
	adv, err := readRefs(explained{s})
	if err != nil {
		return nil, err
	}
	s.adv = adv
	return adv, nil
}

// exchange writes while it reads: the service may talk before it has read everything.
func (s *stream) exchange(request []byte) (io.Reader, error) {
	if _, err := s.refs(); err != nil {
		return nil, err
	}
	s.sent = true
	go func() {
		_, _ = s.in.Write(request) // a service that hangs up is noticed by the reader
		_ = s.in.Close()
	}()
	return explained{s}, nil
}

func (s *stream) close() {
	if !s.sent && s.adv != nil {
		_, _ = io.WriteString(s.in, "0000") // nothing wanted: a polite goodbye
	}
	_ = s.end()
}

// end lets the service finish and returns how it went.
func (s *stream) end() error {
	s.over.Do(func() {
		timer := time.AfterFunc(grace, s.stop)
		defer timer.Stop()
		if !s.sent {
			_ = s.in.Close()
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(s.out, 256<<10))
		s.died = s.wait()
		s.stop()
	})
	return s.died
}

// explained is the output of a service, with what it printed on its standard error in the place of
// a bare end when it failed.
type explained struct{ s *stream }

func (e explained) Read(p []byte) (int, error) {
	n, err := e.s.out.Read(p)
	if n == 0 && errors.Is(err, io.EOF) && e.s.end() != nil {
		if text := e.s.errs.String(); text != "" {
			return 0, remoteFault(text)
		}
	}
	return n, err
}

// syncText collects a service's standard error.
type syncText struct {
	mu sync.Mutex
	t  limitedText
}

func (t *syncText) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.t.Write(p)
}

func (t *syncText) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return printable(t.t.String())
}
