package forge

import (
	"cmp"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// mark is what a pull request says of itself in a comment that nobody sees.
type mark struct {
	cluster, key string
	// follows is the number of the pull request that a person closed before, 0 when there is none.
	follows int
	// asked: labels, reviewers and the like were asked for.
	asked bool
	// closed: by us.
	closed bool
}

var marks = regexp.MustCompile(`<!-- poolwright\?(\S*) -->`)

func (m mark) String() string {
	v := url.Values{"cluster": {m.cluster}, "key": {m.key}}
	if m.follows > 0 {
		v.Set("follows", strconv.Itoa(m.follows))
	}
	if m.asked {
		v.Set("asked", "yes")
	}
	if m.closed {
		v.Set("closed", "yes")
	}
	return "<!-- poolwright?" + v.Encode() + " -->"
}

// readMark is the last mark in a description, zero when there is none.
func readMark(body string) mark {
	all := marks.FindAllStringSubmatch(body, -1)
	if all == nil {
		return mark{}
	}
	v, err := url.ParseQuery(all[len(all)-1][1])
	if err != nil {
		return mark{}
	}
	n, _ := strconv.Atoi(v.Get("follows"))
	return mark{cluster: v.Get("cluster"), key: v.Get("key"), follows: max(n, 0), asked: v.Has("asked"), closed: v.Has("closed")}
}

// stamp is what a commit of ours says of itself.
type stamp struct{ key, tree string }

var stamps = regexp.MustCompile(`(?m)^Poolwright-(Key|Tree): (\S+)\r?$`)

// write adds the stamp to a message's trailers.
func (s stamp) write(message string) string {
	message = strings.TrimRight(message, "\n\t ")
	gap := "\n\n"
	if i := strings.LastIndex(message, "\n\n"); i >= 0 && trailers(message[i+2:]) {
		gap = "\n"
	}
	return message + gap + "Poolwright-Key: " + cmp.Or(s.key, "none") + "\nPoolwright-Tree: " + s.tree + "\n"
}

var trailer = regexp.MustCompile(`^[A-Za-z0-9-]+: |^ `)

func trailers(paragraph string) bool {
	for line := range strings.SplitSeq(paragraph, "\n") {
		if !trailer.MatchString(line) {
			return false
		}
	}
	return true
}

// readStamp is the stamp of a message, zero unless it is whole.
func readStamp(message string) (s stamp) {
	for _, m := range stamps.FindAllStringSubmatch(message, -1) {
		if m[1] == "Key" {
			s.key = m[2]
		} else {
			s.tree = m[2]
		}
	}
	if s.key == "" || s.tree == "" {
		return stamp{}
	}
	return s
}
