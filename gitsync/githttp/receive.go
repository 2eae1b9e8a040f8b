package githttp

import (
	"bytes"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// receive takes a push: the pack first, then each ref.
func (s *Server) receive(store storer.Storer, in io.Reader, out io.Writer) error {
	req := packp.NewReferenceUpdateRequest()
	if err := req.Decode(in); err != nil {
		return fmt.Errorf("reading the push: %w", err)
	}
	s.moving.Lock()
	defer s.moving.Unlock()
	status := packp.NewReportStatus()
	status.UnpackStatus = "ok"
	if err := unpack(store, req); err != nil {
		status.UnpackStatus = err.Error()
	}
	for _, cmd := range req.Commands {
		status.CommandStatuses = append(status.CommandStatuses, &packp.CommandStatus{
			ReferenceName: cmd.Name, Status: update(store, cmd, status.UnpackStatus),
		})
	}
	return tell(out, req.Capabilities, status)
}

// unpack stores the push's objects; a push that only deletes has none.
func unpack(store storer.Storer, req *packp.ReferenceUpdateRequest) error {
	for _, cmd := range req.Commands {
		if cmd.Action() != packp.Delete {
			return packfile.UpdateObjectStorage(store, req.Packfile)
		}
	}
	return nil
}

// update moves one ref and says "ok" or why not.
func update(store storer.Storer, cmd *packp.Command, unpacked string) string {
	switch {
	case unpacked != "ok":
		return "unpacker error"
	case cmd.Action() == packp.Delete:
		return "deleting a ref is not served"
	case store.HasEncodedObject(cmd.New) != nil:
		return "missing necessary objects"
	case current(store, cmd.Name) != cmd.Old:
		return "failed to update ref"
	}
	if err := store.SetReference(plumbing.NewHashReference(cmd.Name, cmd.New)); err != nil {
		return err.Error()
	}
	return "ok"
}

// current is where a ref points, zero when it does not exist.
func current(store storer.ReferenceStorer, name plumbing.ReferenceName) plumbing.Hash {
	ref, err := store.Reference(name)
	if err != nil {
		return plumbing.ZeroHash
	}
	return ref.Hash()
}

// tell answers in the way the client asked for.
func tell(out io.Writer, asked *capability.List, status *packp.ReportStatus) error {
	if !asked.Supports(capability.ReportStatus) {
		return nil
	}
	if !asked.Supports(capability.Sideband64k) {
		return status.Encode(out)
	}
	var report bytes.Buffer
	if err := status.Encode(&report); err != nil {
		return err
	}
	if _, err := sideband.NewMuxer(sideband.Sideband64k, out).Write(report.Bytes()); err != nil {
		return err
	}
	return pktline.NewEncoder(out).Flush()
}
