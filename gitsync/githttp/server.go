package githttp

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// Init makes an empty bare repository in dir, with HEAD at branch.
func Init(dir, branch string) error {
	_, err := git.PlainInitWithOptions(dir, &git.PlainInitOptions{
		Bare:        true,
		InitOptions: git.InitOptions{DefaultBranch: plumbing.NewBranchReferenceName(branch)},
	})
	if err != nil {
		return fmt.Errorf("making the repository %s: %w", dir, err)
	}
	return nil
}

// Server answers for one repository. It is an http.Handler for
// /info/refs, /git-upload-pack and /git-receive-pack.
type Server struct {
	dir string
	// moving is held while a ref is written, which go-git does in place, and while refs are read.
	moving sync.RWMutex
	mux    *http.ServeMux
}

// New returns a server for the bare repository in dir.
func New(dir string) *Server {
	s := &Server{dir: dir, mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /info/refs", s.advertise)
	s.mux.HandleFunc("POST /git-upload-pack", s.rpc("git-upload-pack", s.upload))
	s.mux.HandleFunc("POST /git-receive-pack", s.rpc("git-receive-pack", s.receive))
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// store is the repository as it is on disk now.
func (s *Server) store() *filesystem.Storage {
	return filesystem.NewStorage(osfs.New(s.dir), cache.NewObjectLRUDefault())
}

// rpc answers one POST of a service. What went wrong before the first byte of
// the answer is a 400: our own clients and git both show its text.
func (s *Server) rpc(service string, answer func(storer.Storer, io.Reader, io.Writer) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := plain(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-"+service+"-result")
		w.Header().Set("Cache-Control", "no-cache")
		store := s.store()
		defer func() { _ = store.Close() }()
		if err := answer(store, body, w); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
}

// plain is the request's body without its compression.
func plain(r *http.Request) (io.Reader, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return r.Body, nil
	}
	return gzip.NewReader(r.Body)
}

// advertise lists the refs and what the service can do.
func (s *Server) advertise(w http.ResponseWriter, r *http.Request) {
	service := r.FormValue("service")
	if service != "git-upload-pack" && service != "git-receive-pack" {
		http.Error(w, "the dumb protocol is not served", http.StatusForbidden)
		return
	}
	store := s.store()
	defer func() { _ = store.Close() }()
	adv := packp.NewAdvRefs()
	adv.Prefix = [][]byte{[]byte("# service=" + service), {}}
	s.moving.RLock()
	err := errors.Join(abilities(service, adv.Capabilities), refs(store, adv))
	s.moving.RUnlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-"+service+"-advertisement")
	w.Header().Set("Cache-Control", "no-cache")
	_ = adv.Encode(w) // the client has gone away: nobody to tell
}

func abilities(service string, list *capability.List) error {
	able := []capability.Capability{capability.ReportStatus, capability.OFSDelta, capability.Sideband64k, "no-thin"}
	if service == "git-upload-pack" {
		able = []capability.Capability{
			capability.OFSDelta, capability.Sideband64k, capability.NoProgress,
			capability.Shallow, capability.Filter, capability.AllowTipSHA1InWant, capability.AllowReachableSHA1InWant,
		}
	}
	for _, c := range able {
		if err := list.Add(c); err != nil {
			return err
		}
	}
	return list.Set(capability.Agent, "poolwright-githttp")
}

// refs lists the branches and tags, and HEAD when its branch exists.
func refs(store storer.ReferenceStorer, adv *packp.AdvRefs) error {
	iter, err := store.IterReferences()
	if err != nil {
		return err
	}
	defer iter.Close()
	err = iter.ForEach(func(ref *plumbing.Reference) error {
		if ref.Name() == plumbing.HEAD {
			return head(store, adv, ref)
		}
		return adv.AddReference(ref)
	})
	return err
}

func head(store storer.ReferenceStorer, adv *packp.AdvRefs, ref *plumbing.Reference) error {
	at, err := storer.ResolveReference(store, ref.Name())
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	hash := at.Hash()
	adv.Head = &hash
	return adv.Capabilities.Add(capability.SymRef, "HEAD:"+ref.Target().String())
}
