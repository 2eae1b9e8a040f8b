package githubfake

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sort"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// store is the repository's objects on disk. Others write to it too: what is not found is looked for once more, with the
// packs that came since.
type store struct{ *filesystem.Storage }

func openStore(dir string) store {
	return store{filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())}
}

// EncodedObject is that of the storage, with a second look.
func (st store) EncodedObject(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	o, err := st.Storage.EncodedObject(t, h)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		st.Reindex()
		return st.Storage.EncodedObject(t, h)
	}
	return o, err
}

func (st store) commit(sha string) (*object.Commit, bool) {
	c, err := object.GetCommit(st, plumbing.NewHash(sha))
	return c, err == nil && plumbing.IsHash(sha)
}

func (st store) tree(sha string) (*object.Tree, bool) {
	t, err := object.GetTree(st, plumbing.NewHash(sha))
	return t, err == nil && plumbing.IsHash(sha)
}

// kind is the type of an object, InvalidObject when there is none.
func (st store) kind(sha string) plumbing.ObjectType {
	o, err := st.EncodedObject(plumbing.AnyObject, plumbing.NewHash(sha))
	if err != nil || !plumbing.IsHash(sha) {
		return plumbing.InvalidObject
	}
	return o.Type()
}

func (st store) blob(sha string) ([]byte, bool) {
	o, err := st.EncodedObject(plumbing.BlobObject, plumbing.NewHash(sha))
	if err != nil || !plumbing.IsHash(sha) {
		return nil, false
	}
	r, err := o.Reader()
	if err != nil {
		return nil, false
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return data, err == nil
}

// put writes an object.
func (st store) put(encode func(plumbing.EncodedObject) error) (string, error) {
	o := st.NewEncodedObject()
	if err := encode(o); err != nil {
		return "", err
	}
	h, err := st.SetEncodedObject(o)
	return h.String(), err
}

func (st store) putBlob(data []byte) (string, error) {
	return st.put(func(o plumbing.EncodedObject) error {
		o.SetType(plumbing.BlobObject)
		w, err := o.Writer()
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return errors.Join(err, w.Close())
	})
}

// change is what becomes of a path: an entry, or none.
type change struct {
	mode filemode.FileMode
	sha  string
	gone bool
}

// errNoSuchFile is a deletion of what is not there.
var errNoSuchFile = errors.New("no such file")

// graft is the tree base ("" for none) with changes by path. A directory that becomes empty is left out.
func (st store) graft(base string, changes map[string]change) (string, error) {
	entries, err := st.entries(base)
	if err != nil {
		return "", err
	}
	below := map[string]map[string]change{}
	for path, c := range changes {
		name, rest, nested := strings.Cut(path, "/")
		switch _, there := entries[name]; {
		case nested && below[name] == nil:
			below[name] = map[string]change{rest: c}
		case nested:
			below[name][rest] = c
		case c.gone && !there:
			return "", errNoSuchFile
		case c.gone:
			delete(entries, name)
		default:
			entries[name] = object.TreeEntry{Name: name, Mode: c.mode, Hash: plumbing.NewHash(c.sha)}
		}
	}
	for name, inner := range below {
		if err := st.descend(entries, name, inner); err != nil {
			return "", err
		}
	}
	if len(entries) == 0 {
		return emptyTree, nil // not written: it is nobody's unless it is the whole
	}
	return st.putTree(entries)
}

func (st store) descend(entries map[string]object.TreeEntry, name string, inner map[string]change) error {
	base := ""
	if e, ok := entries[name]; ok && e.Mode == filemode.Dir {
		base = e.Hash.String()
	}
	sha, err := st.graft(base, inner)
	switch {
	case err != nil:
		return err
	case sha == emptyTree:
		delete(entries, name)
	default:
		entries[name] = object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: plumbing.NewHash(sha)}
	}
	return nil
}

const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

func (st store) entries(tree string) (map[string]object.TreeEntry, error) {
	all := map[string]object.TreeEntry{}
	if tree == "" || tree == emptyTree {
		return all, nil
	}
	t, ok := st.tree(tree)
	if !ok {
		return nil, fmt.Errorf("%s is no tree", tree)
	}
	for _, e := range t.Entries {
		all[e.Name] = e
	}
	return all, nil
}

func (st store) putTree(entries map[string]object.TreeEntry) (string, error) {
	t := &object.Tree{}
	for _, e := range entries {
		t.Entries = append(t.Entries, e)
	}
	sort.Sort(object.TreeEntrySorter(t.Entries))
	return st.put(t.Encode)
}

// heads are the branches, read from disk.
func (s *Server) heads() map[string]string {
	all := map[string]string{}
	refs, err := s.store.IterReferences()
	if err == nil {
		err = refs.ForEach(func(r *plumbing.Reference) error {
			if branch, ok := strings.CutPrefix(r.Name().String(), "refs/heads/"); ok && r.Type() == plumbing.HashReference {
				all[branch] = r.Hash().String()
			}
			return nil
		})
	}
	if err != nil {
		s.t.Errorf("reading the references: %v", err)
	}
	return all
}

// git runs git, which has to succeed.
func (s *Server) git(args ...string) string {
	out, err := s.o.Repo.Git(args...)
	if err != nil {
		s.t.Error(err)
	}
	return out
}

// says runs git for its exit status.
func (s *Server) says(args ...string) (string, bool) {
	out, err := s.o.Repo.Git(args...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Error(err)
	}
	return out, err == nil
}

func (s *Server) isAncestor(old, young string) bool {
	if old == young {
		return true
	}
	_, yes := s.says("merge-base", "--is-ancestor", old, young)
	return yes
}

// between are the commits that head has and base has not, the newest first.
func (s *Server) between(base, head string) []string {
	return strings.Fields(s.git("rev-list", head, "^"+base))
}

// move sets a branch from one commit to another; "" is none. False: somebody else was quicker, or the name cannot be.
func (s *Server) move(branch, from, to string) bool {
	zero := strings.Repeat("0", 40)
	args := []string{"update-ref", "refs/heads/" + branch, to, from}
	switch {
	case to == "":
		args = []string{"update-ref", "-d", "refs/heads/" + branch, from}
	case from == "":
		args[3] = zero
	}
	_, done := s.says(args...)
	return done
}
