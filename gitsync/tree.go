package gitsync

import (
	"bytes"
	"errors"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// hash names a Git object (SHA-1).
type hash = plumbing.Hash

// modeTree and modeFile are the modes of what we create. Modes of what exists are kept as they are
// spelled, also the odd ones of old tools (040000, 100664).
const (
	modeTree = "40000"
	modeFile = "100644"
)

// entry is one line of a tree, with the mode exactly as it was written.
type entry struct {
	mode, name string
	hash       hash
}

func isTreeMode(mode string) bool { return mode == "40000" || mode == "040000" }

// isFileMode is true for regular files: neither symlink (120000) nor submodule (160000).
func isFileMode(mode string) bool { return len(mode) == 6 && mode[:3] == "100" }

var errTree = errors.New("malformed tree")

// eachEntry calls f for the entries of a raw tree, without copying. f's arguments are views.
func eachEntry(raw []byte, f func(mode, name []byte, h hash) error) error {
	for len(raw) > 0 {
		sp := bytes.IndexByte(raw, ' ')
		if sp < 1 {
			return errTree
		}
		nul := bytes.IndexByte(raw[sp+1:], 0)
		if nul < 1 {
			return errTree
		}
		end := sp + 1 + nul + 1
		if len(raw) < end+len(hash{}) {
			return errTree
		}
		if err := f(raw[:sp], raw[sp+1:end-1], hash(raw[end:end+len(hash{})])); err != nil {
			return err
		}
		raw = raw[end+len(hash{}):]
	}
	return nil
}

func parseTree(raw []byte) ([]entry, error) {
	var es []entry
	err := eachEntry(raw, func(mode, name []byte, h hash) error {
		es = append(es, entry{string(mode), string(name), h})
		return nil
	})
	return es, err
}

// encodeTree writes entries in the order given: siblings keep even a wrong place.
func encodeTree(es []entry) []byte {
	var b bytes.Buffer
	for _, e := range es {
		b.WriteString(e.mode)
		b.WriteByte(' ')
		b.WriteString(e.name)
		b.WriteByte(0)
		b.Write(e.hash[:])
	}
	return b.Bytes()
}

// sortKey orders entries as Git does: a directory as if its name ended in a slash.
func (e entry) sortKey() string {
	if isTreeMode(e.mode) {
		return e.name + "/"
	}
	return e.name
}

func find(es []entry, name string) int {
	return slices.IndexFunc(es, func(e entry) bool { return e.name == name })
}

// insert puts a new entry where Git's order wants it.
func insert(es []entry, e entry) []entry {
	at := slices.IndexFunc(es, func(x entry) bool { return x.sortKey() > e.sortKey() })
	if at < 0 {
		at = len(es)
	}
	return slices.Insert(es, at, e)
}
