package githttp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// request is one round of a fetch.
type request struct {
	wants, haves, shallows []plumbing.Hash
	depth                  int
	noBlobs, muxed, done   bool
}

// upload answers one round of a fetch: the shallow boundary when a depth is
// asked for, what is common, and, once the client is done, the pack.
func (s *Server) upload(store storer.Storer, in io.Reader, out io.Writer) error {
	req, err := readRequest(in)
	if err != nil {
		return fmt.Errorf("reading the fetch: %w", err)
	}
	edge, err := boundaryOf(store, req)
	if err != nil {
		return fmt.Errorf("cutting the history: %w", err)
	}
	objects, err := missing(store, req, edge)
	if err != nil {
		return fmt.Errorf("listing what to send: %w", err)
	}
	buffered := bufio.NewWriter(out)
	lines := pktline.NewEncoder(buffered)
	if req.depth > 0 {
		if err := tellBoundary(lines, edge); err != nil {
			return err
		}
	}
	if err := acknowledge(store, req, lines); err != nil {
		return err
	}
	if req.done {
		if err := send(store, req, objects, buffered); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// tellBoundary says where the client will be shallow, and where no longer.
func tellBoundary(lines *pktline.Encoder, edge boundary) error {
	for _, h := range edge.shallow {
		if err := lines.Encodef("shallow %s\n", h); err != nil {
			return err
		}
	}
	for _, h := range edge.opened {
		if err := lines.Encodef("unshallow %s\n", h); err != nil {
			return err
		}
	}
	return lines.Flush()
}

// acknowledge names the first commit that both sides have.
func acknowledge(store storer.Storer, req request, lines *pktline.Encoder) error {
	if req.depth > 0 && !req.done && len(req.haves) == 0 {
		return nil // the client only asks for the boundary
	}
	for _, h := range req.haves {
		if store.HasEncodedObject(h) == nil {
			return lines.Encodef("ACK %s\n", h)
		}
	}
	return lines.EncodeString("NAK\n")
}

// send writes the pack.
func send(store storer.Storer, req request, objects []plumbing.Hash, out io.Writer) error {
	if !req.muxed {
		_, err := packfile.NewEncoder(out, store, false).Encode(objects, 0)
		return err
	}
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, store, false).Encode(objects, 0); err != nil {
		return err
	}
	if _, err := sideband.NewMuxer(sideband.Sideband64k, out).Write(pack.Bytes()); err != nil {
		return err
	}
	return pktline.NewEncoder(out).Flush()
}

// readRequest reads wants, shallows, depth, filter, haves and done.
func readRequest(in io.Reader) (request, error) {
	var req request
	lines := pktline.NewScanner(in)
	for lines.Scan() {
		word, rest, _ := strings.Cut(strings.TrimSuffix(string(lines.Bytes()), "\n"), " ")
		if err := req.add(word, rest); err != nil {
			return req, err
		}
	}
	return req, lines.Err()
}

// add takes one line in.
func (req *request) add(word, rest string) (err error) {
	switch word {
	case "": // a flush between the sections
	case "want":
		hash, caps, _ := strings.Cut(rest, " ")
		req.wants = append(req.wants, plumbing.NewHash(hash))
		req.muxed = req.muxed || strings.Contains(caps, "side-band-64k")
	case "have":
		req.haves = append(req.haves, plumbing.NewHash(rest))
	case "shallow":
		req.shallows = append(req.shallows, plumbing.NewHash(rest))
	case "deepen":
		req.depth, err = strconv.Atoi(rest)
	case "filter":
		if rest != "blob:none" {
			return fmt.Errorf("the filter %q is not served", rest)
		}
		req.noBlobs = true
	case "done":
		req.done = true
	default:
		return fmt.Errorf("unknown line %q", word)
	}
	return err
}
