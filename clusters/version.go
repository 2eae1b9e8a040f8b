package clusters

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Version is a PgBouncer version. It is comparable; Compare orders it.
type Version struct{ Major, Minor, Patch int }

// String is "1.25.2".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Compare is negative when v is older than w, 0 when equal, positive when newer.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// versionText is a full version, maybe with a leading v and the suffix of an image build.
var versionText = regexp.MustCompile(`^v?([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})([-_+.].*)?$`)

func parseVersion(s string) (Version, bool) {
	m := versionText.FindStringSubmatch(s)
	if m == nil {
		return Version{}, false
	}
	var n [3]int
	for i := range n {
		n[i], _ = strconv.Atoi(m[i+1]) // one to four digits
	}
	return Version{n[0], n[1], n[2]}, true
}

// EffectiveVersion is pgbouncerVersion, else the version that the image's tag tells: 1.25.2, v1.24.1, 1.24.1-debian.
// It is false when neither tells; Load refuses such a file.
func (p PgBouncer) EffectiveVersion() (Version, bool) {
	if p.Version != "" {
		return parseVersion(p.Version)
	}
	return parseVersion(imageTag(p.Image))
}

// imageTag is "" without a tag. The colon of a registry's port stands before a slash.
func imageTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return tag
}
