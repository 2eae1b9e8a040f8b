package gitsync

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// location is where a repository is, without any secret.
type location struct {
	scheme string // file, http, https, ssh
	host   string // with port
	user   string // ssh
	path   string
}

// parseLocation reads a file path, a file, http, https or ssh URL, or the scp form git@host:path.
func parseLocation(s string) (location, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	switch {
	case s == "":
		return location{}, errors.New("the repository URL is empty")
	case ok && scheme == "file":
		return location{scheme: scheme, path: rest}, nil
	case ok:
		return parseURL(s)
	}
	if host, path, ok := strings.Cut(s, ":"); ok && !strings.Contains(host, "/") {
		user, host, named := cutUser(host)
		if !named && strings.Contains(path, "@") { // user:password@host
			return location{}, errSecret
		}
		return sshLocation(user, host, path)
	}
	return location{scheme: "file", path: s}, nil
}

var errSecret = errors.New("the repository URL carries a user or password: give them as credentials")

func parseURL(s string) (location, error) {
	u, err := url.Parse(s)
	if err != nil {
		return location{}, errors.New("the repository URL cannot be read") // its text may hold a secret
	}
	_, secret := u.User.Password()
	switch {
	case secret || u.User != nil && u.Scheme != "ssh":
		return location{}, errSecret
	case u.RawQuery != "" || u.Fragment != "":
		return location{}, errors.New("the repository URL carries a query or a fragment")
	case u.Host == "":
		return location{}, errors.New("the repository URL names no host")
	case u.Scheme == "http" || u.Scheme == "https":
		return location{scheme: u.Scheme, host: u.Host, path: strings.TrimSuffix(u.Path, "/")}, nil
	case u.Scheme == "ssh":
		path := u.Path
		if strings.HasPrefix(path, "/~") {
			path = path[1:]
		}
		return sshLocation(u.User.Username(), u.Host, path)
	}
	return location{}, fmt.Errorf("the repository URL has scheme %q; known are file, http, https, ssh", u.Scheme)
}

func sshLocation(user, host, path string) (location, error) {
	if user == "" {
		user = "git"
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "22")
	}
	if path == "" || strings.ContainsAny(host, "@/ ") || strings.HasPrefix(host, "-") || strings.HasPrefix(path, "-") {
		return location{}, errors.New("the repository URL names no host or path")
	}
	return location{scheme: "ssh", host: host, user: user, path: path}, nil
}

func cutUser(s string) (user, host string, ok bool) {
	if at := strings.LastIndex(s, "@"); at >= 0 {
		return s[:at], s[at+1:], true
	}
	return "", s, false
}

func (l location) String() string {
	switch l.scheme {
	case "file":
		return l.path
	case "ssh":
		return "ssh://" + l.user + "@" + l.host + "/" + strings.TrimPrefix(l.path, "/")
	}
	return l.scheme + "://" + l.host + l.path
}

// some lists names for a message: sorted, the first few.
func some(names []string) string {
	slices.Sort(names)
	if len(names) > 8 {
		return strings.Join(names[:8], ", ") + fmt.Sprintf(" and %d more", len(names)-8)
	}
	return strings.Join(names, ", ")
}
