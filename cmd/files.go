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
// then the directories which that leaves empty. Every file is complete beside its
// place before the first one goes there, so that a full disk changes nothing.
func writeDir(dir string, change gitsync.Change) error {
	staged, err := stageFiles(dir, change.Put)
	defer unstage(dir, staged)
	if err != nil {
		return fmt.Errorf("writing %s: %w", dir, err)
	}
	for name, tmp := range staged {
		if err := os.Rename(tmp, below(dir, name)); err != nil {
			return fmt.Errorf("writing %s: %w", dir, err)
		}
		delete(staged, name)
	}
	for _, name := range change.Delete {
		if err := os.Remove(below(dir, name)); err != nil {
			return fmt.Errorf("deleting from %s: %w", dir, err)
		}
	}
	removeEmpty(dir, change.Delete)
	return nil
}

func below(dir, name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }

// stageFiles writes files beside their places and returns where, by name; also after an error.
func stageFiles(dir string, files map[string][]byte) (staged map[string]string, err error) {
	staged = map[string]string{}
	for _, name := range sortedKeys(files) {
		if staged[name], err = stageFile(below(dir, name), files[name]); err != nil {
			return staged, err
		}
	}
	return staged, nil
}

func stageFile(name string, data []byte) (string, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".poolwright-*")
	if err != nil {
		return "", err
	}
	_, err = tmp.Write(data)
	return tmp.Name(), errors.Join(err, tmp.Chmod(0o644), tmp.Close())
}

// unstage removes what did not get to its place.
func unstage(dir string, staged map[string]string) {
	for _, tmp := range staged {
		_ = os.Remove(tmp)
	}
	removeEmpty(dir, sortedKeys(staged))
}

// removeEmpty removes the directories above the names that are empty.
func removeEmpty(dir string, names []string) {
	for _, name := range parents(names) {
		if info, err := os.Lstat(below(dir, name)); err == nil && info.IsDir() {
			_ = os.Remove(below(dir, name)) // refused where something lives
		}
	}
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
