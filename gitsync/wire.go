package gitsync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// The two services of a Git server.
const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// carrier brings the bytes of a conversation to one repository and back: HTTP, SSH or a child process.
// What is said is the same on all of them and is said in this file.
type carrier interface {
	// open starts a conversation that ends with ctx.
	open(ctx context.Context, service string) (session, error)
	close() error
}

// session is one conversation with a service.
type session interface {
	// refs is what the service says first: its references and capabilities.
	refs() (*packp.AdvRefs, error)
	// exchange sends the one request and returns the answer.
	exchange(request []byte) (io.Reader, error)
	close()
}

const agent = "poolwright"

// maxRefs bounds an advertisement, in bytes: 20,000 refs are 1.7 MB.
const maxRefs = 64 << 20

// readRefs reads an advertisement.
func readRefs(r io.Reader) (*packp.AdvRefs, error) {
	adv := packp.NewAdvRefs()
	err := adv.Decode(io.LimitReader(r, maxRefs))
	var line *pktline.ErrorLine
	var odd *packp.ErrUnexpectedData
	switch {
	case errors.As(err, &line):
		return nil, remoteFault(line.Text)
	case errors.As(err, &odd) && bytes.Contains(odd.Data, []byte("object-format=sha256")):
		return nil, errSHA256
	case errors.Is(err, packp.ErrEmptyAdvRefs):
		return adv, nil // an empty repository, as old servers say it
	case err != nil:
		return nil, fmt.Errorf("reading the remote's references: %w", err)
	}
	for _, f := range adv.Capabilities.Get("object-format") {
		if f != "sha1" {
			return nil, errSHA256
		}
	}
	return adv, nil
}

var errSHA256 = faultf(ErrUnsupported, "the repository uses SHA-256 object names, only SHA-1 is known here")

// tipOf finds the branch. A missing branch in a repository that has others is more likely a wrong name than
// a wish for a second root.
func tipOf(adv *packp.AdvRefs, branch string) (hash, error) {
	if h, ok := adv.References["refs/heads/"+branch]; ok {
		return h, nil
	}
	var others []string
	for ref := range adv.References {
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		return hash{}, faultf(ErrNotFound, fmt.Sprintf("branch %q; the repository has %s", branch, some(others)))
	}
	return hash{}, nil
}

// wanted is a question to upload-pack.
type wanted struct {
	hashes []hash
	// have says: this commit's tree is here, none of its parents are, so send what differs.
	have hash
	// depth is how many commits, 0 for no limit.
	depth int
	// filter leaves objects out: "blob:none", "tree:0".
	filter string
	// limit is the largest pack taken, in bytes.
	limit int64
}

// fetch asks upload-pack in an open session. caps are the service's, as once advertised.
func fetch(s session, caps *capability.List, w wanted) (*received, error) {
	req, err := fetchRequest(caps, w)
	if err != nil {
		return nil, err
	}
	answer, err := s.exchange(req.body)
	if err != nil {
		return nil, err
	}
	return readFetch(answer, req.head, w.limit)
}

type request struct {
	head *packp.UploadPackRequest
	body []byte
}

func fetchRequest(caps *capability.List, w wanted) (request, error) {
	req := packp.NewUploadPackRequest()
	req.Wants = append(req.Wants, w.hashes...)
	names := []capability.Capability{capability.Sideband64k, capability.OFSDelta, capability.NoProgress}
	if w.depth > 0 || !w.have.IsZero() {
		names = append(names, capability.Shallow)
	}
	if w.filter != "" {
		names = append(names, capability.Filter)
		req.Filter = packp.Filter(w.filter)
	}
	if err := choose(caps, req.Capabilities, names...); err != nil {
		return request{}, err
	}
	req.Depth = packp.DepthCommits(w.depth)
	if !w.have.IsZero() {
		// Shallow at what we have and no "deepen": the server then sees the new commits' parents and
		// sends what changed. With "deepen 1" it would send the whole snapshot again.
		req.Haves, req.Shallows = []hash{w.have}, []hash{w.have}
	}
	var b bytes.Buffer
	err := errors.Join(req.UploadRequest.Encode(&b), req.UploadHaves.Encode(&b, false), pktline.NewEncoder(&b).EncodeString("done\n"))
	return request{req, b.Bytes()}, err
}

// choose sets the capabilities that both sides know. side-band-64k and shallow are not optional.
func choose(caps, out *capability.List, names ...capability.Capability) error {
	for _, n := range names {
		switch {
		case caps.Supports(n):
			_ = out.Set(n)
		case n == capability.Sideband64k || n == capability.Shallow || n == capability.ReportStatus:
			return faultf(ErrUnsupported, "the remote's Git has no "+n.String())
		}
	}
	if caps.Supports(capability.Agent) {
		_ = out.Set(capability.Agent, agent)
	}
	return nil
}

// readFetch reads the answer of upload-pack.
func readFetch(answer io.Reader, req *packp.UploadPackRequest, limit int64) (*received, error) {
	res := packp.NewUploadPackResponse(req)
	if err := res.Decode(io.NopCloser(answer)); err != nil {
		return nil, saidInstead(err)
	}
	p, err := readPack(sideband.NewDemuxer(sideband.Sideband64k, res), limit)
	return p, saidInstead(err)
}

// saidInstead finds the remote's own words in an error of the protocol.
func saidInstead(err error) error {
	if err == nil || errors.Is(err, errStale) {
		return err
	}
	if line, ok := errors.AsType[*pktline.ErrorLine](err); ok {
		return remoteFault(line.Text)
	}
	if _, text, ok := strings.Cut(err.Error(), "unexpected error: "); ok { // band 3
		return remoteFault(text)
	}
	return err
}

// refusal is the remote's no: the reason it gave, what its hooks printed, and what that means when the remote says so.
type refusal struct {
	reason, remote string
	is             error
}

func (r *refusal) Error() string {
	if r.remote == "" {
		return r.reason
	}
	return r.reason + " (remote: " + r.remote + ")"
}

// kind says what a refusal means when the branch has not moved: ErrMoved for a reference whose lock somebody
// holds, who may be about to move it; errStale when the remote has lost what we built on.
func (r *refusal) kind() error {
	if r.is != nil {
		return r.is
	}
	for _, c := range refusalWords {
		if strings.Contains(strings.ToLower(r.Error()), c.word) {
			return c.kind
		}
	}
	return ErrRefused
}

// refusalWords are tried in order. Texts of git's receive-pack; hooks say what they like.
var refusalWords = []struct {
	word string
	kind error
}{
	{"no space left", ErrUnreachable},
	{"disk quota", ErrUnreachable},
	{"hook declined", ErrRefused},
	{"fsck", ErrRefused},
	{"missing necessary objects", errStale},
	{"failed to update ref", ErrMoved},
	{"cannot lock ref", ErrMoved},
	{"failed to lock", ErrMoved},
	{"reference already exists", ErrMoved},
	{"incorrect old value", ErrMoved},
	{"unpack: ", ErrUnreachable},
}

// push asks receive-pack, in a session whose references were read, to move ref from old to tip. old is
// the parent of the first new commit: the server compares and swaps. A no is a *refusal. For other errors see [unclear].
func push(s session, caps *capability.List, ref string, old, tip hash, pack []byte) error {
	req := packp.NewReferenceUpdateRequest()
	// No "atomic": for one reference it only hides the reason of a refusal.
	if err := choose(caps, req.Capabilities, capability.ReportStatus, capability.Sideband64k); err != nil {
		return err
	}
	req.Commands = []*packp.Command{{Name: plumbing.ReferenceName(ref), Old: old, New: tip}}
	req.Packfile = io.NopCloser(bytes.NewReader(pack))
	var b bytes.Buffer
	if err := req.Encode(&b); err != nil {
		return err
	}
	answer, err := s.exchange(b.Bytes())
	if err != nil {
		return err
	}
	return readReport(answer)
}

// readReport reads the answer of receive-pack, with the hooks' text beside it.
func readReport(answer io.Reader) error {
	said := &limitedText{}
	demux := sideband.NewDemuxer(sideband.Sideband64k, answer)
	demux.Progress = said
	report := packp.NewReportStatus()
	if err := report.Decode(demux); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(demux, maxRefs)) // the hooks' last words come after the report
	reason := ""
	if report.UnpackStatus != "ok" {
		reason = "unpack: " + report.UnpackStatus
	}
	for _, c := range report.CommandStatuses {
		if c.Status != "ok" && reason == "" {
			reason = c.Status
		}
	}
	if reason == "" {
		return nil
	}
	return &refusal{reason: printable(reason), remote: printable(said.String())}
}

// limitedText keeps the first bytes of what a remote prints.
type limitedText struct{ b bytes.Buffer }

func (t *limitedText) Write(p []byte) (int, error) {
	if room := 4*textLimit - t.b.Len(); room > 0 {
		t.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (t *limitedText) String() string { return t.b.String() }
