package gitsync

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxPath = 4096 // bytes

// cleanDir checks a directory of the repository and gives it the one spelling used inside: "" is
// the root, no slash at either end.
func cleanDir(dir string) (string, error) {
	dir = strings.TrimSuffix(strings.TrimPrefix(dir, "./"), "/")
	if dir == "" || dir == "." {
		return "", nil
	}
	return dir, checkPath(dir)
}

// checkPath refuses what must never become a tree entry.
func checkPath(path string) error {
	if path == "" || len(path) > maxPath {
		return pathFault(path, "is empty or too long")
	}
	for name := range strings.SplitSeq(path, "/") {
		if why := badName(name); why != "" {
			return pathFault(path, why)
		}
	}
	return nil
}

func writable(path string) bool { return checkPath(path) == nil }

// badName says why a path component is never written or followed, "" when it is fine.
func badName(name string) string {
	switch {
	case name == "":
		return "has an empty component"
	case name == "." || name == "..":
		return "has a component " + name
	case gitDirName(name):
		return "has a component .git"
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '\\' || r == '/' }):
		return "has a control character or a backslash"
	}
	return ""
}

// gitDirName knows the spellings of .git which some filesystem takes for it: case, trailing dots and
// spaces and streams (NTFS), the short name, and ignorable code points (HFS+).
func gitDirName(name string) bool {
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.ToLower(strings.TrimRight(name, " ."))
	return name == ".git" || name == "git~1"
}

func pathFault(path, why string) error {
	return faultf(ErrPath, fmt.Sprintf("%q %s", path, why))
}

// within tells whether path lies in dir (or is it).
func within(dir, path string) bool {
	return dir == "" || path == dir || strings.HasPrefix(path, dir+"/")
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
