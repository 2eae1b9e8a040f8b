package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
)

const (
	maxName = 63 // a Service's name and a label's value
	hashLen = 8
)

var (
	serviceName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	labelValue  = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	notInLabel  = regexp.MustCompile(`[^-A-Za-z0-9_.]+`)
	notInName   = regexp.MustCompile(`[^-a-z0-9]+`)
)

// LabelValue is s when it is a label value, else a shortened form of it with a hash: the same in
// pod labels and in selectors.
func LabelValue(s string) string {
	if len(s) <= maxName && labelValue.MatchString(s) {
		return s
	}
	return shortened(notInLabel.ReplaceAllString(s, "-"), s)
}

// OverlayName is the directory of an instance below instances/.
func OverlayName(instance string) string { return LabelValue(instance) }

// ObjectName is the name of an instance's Deployment, Service and PodDisruptionBudget: <cluster>-<instance>,
// shortened with a hash when that is no Service name or is taken by a role Service of the cluster.
func ObjectName(c clusters.Cluster, instance string) string {
	name := c.Metadata.Name + "-" + instance
	taken := name == c.WriterServiceName() || name == c.ReaderServiceName()
	if len(name) <= maxName && serviceName.MatchString(name) && !taken {
		return name
	}
	return shortened(notInName.ReplaceAllString(strings.ToLower(name), "-"), name)
}

// shortened is clean cut to size, and a hash of the whole.
func shortened(clean, whole string) string {
	sum := sha256.Sum256([]byte(whole))
	clean = strings.Trim(clean[:min(len(clean), maxName-1-hashLen)], "-_.")
	if clean == "" {
		clean = "x"
	}
	return clean + "-" + hex.EncodeToString(sum[:])[:hashLen]
}

// Drawn is a cluster and the state of its tree.
type Drawn struct {
	Cluster clusters.Cluster
	State   plan.State
}

// Collisions are the Service names that two of the clusters would both claim in one namespace, as
// sentences, in order.
func Collisions(all []Drawn) []string {
	owner := map[string]string{}
	var found []string
	for _, d := range all {
		for _, name := range serviceNames(d) {
			who := d.Cluster.Metadata.Name
			if other, taken := owner[name.key]; taken {
				found = append(found, fmt.Sprintf("Service %s in namespace %s is claimed by clusters %s and %s", name.service, d.Cluster.Metadata.Namespace, other, who))
				continue
			}
			owner[name.key] = who
		}
	}
	return found
}

type claimed struct{ key, service string }

func serviceNames(d Drawn) []claimed {
	names := []string{d.Cluster.ReaderServiceName()}
	if d.State.Writer != "" {
		names = append(names, d.Cluster.WriterServiceName())
	}
	for _, m := range sorted(d.State).Members {
		names = append(names, ObjectName(d.Cluster, m.Name))
	}
	list := make([]claimed, len(names))
	for i, n := range names {
		list[i] = claimed{d.Cluster.Metadata.Namespace + "/" + n, n}
	}
	return list
}
