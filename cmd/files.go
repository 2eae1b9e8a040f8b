package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/poolwright/poolwright/gitsync"
)

// readDirIfAny is readDir, but a directory which does not exist is an empty one:
// a cluster with no tree yet.
func readDirIfAny(dir string) (gitsync.Base, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return gitsync.Base{Files: gitsync.Files{}}, nil
	}
	return readDir(dir)
}

// haveDir is the error about a directory that a person named and that does not exist.
func haveDir(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return exitf(ExitUsage, "", "reading %s: no such directory", dir)
	}
	return nil
}

// readDir reads a cluster directory of a checkout.
func readDir(dir string) (gitsync.Base, error) {
	if err := haveDir(dir); err != nil {
		return gitsync.Base{}, err
	}
	base := gitsync.Base{Files: gitsync.Files{}}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			base.Odd = append(base.Odd, name)
			return nil
		}
		base.Files[name], err = fs.ReadFile(root, name)
		return err
	})
	if err != nil {
		return base, fmt.Errorf("reading %s: %w", dir, err)
	}
	return base, nil
}

// writeDir brings dir to what a change says: files first, then what is gone,
// then the directories which that leaves empty.
func writeDir(dir string, change gitsync.Change) error {
	for name, data := range change.Put {
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(name)), data); err != nil {
			return fmt.Errorf("writing %s: %w", dir, err)
		}
	}
	for _, name := range change.Delete {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("deleting from %s: %w", dir, err)
		}
	}
	for _, name := range parents(change.Delete) {
		_ = os.Remove(filepath.Join(dir, filepath.FromSlash(name))) // refused where something else lives
	}
	return nil
}

// writeFile replaces a file in one step, so that a full disk leaves the old one.
func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".poolwright-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

// parents are the directories above the names, deepest first.
func parents(names []string) (dirs []string) {
	for _, name := range names {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	slices.Reverse(dirs)
	return slices.Compact(dirs)
}
