package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/live"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// word is what a person says to a cluster: keys of the control ConfigMap with
// their new values. nil takes one back.
type word map[string]any

// say writes a word to the control ConfigMap, which is made when it is missing.
// Each key is written alone: a mirror that is written meanwhile stays.
func (s site) say(ctx context.Context, w word) error {
	set, remove := map[string]string{}, []string{}
	for key, value := range w {
		if value == nil {
			remove = append(remove, key)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("writing down %s: %w", key, err)
		}
		set[key] = string(text)
	}
	if err := live.PutControl(ctx, s.kube, s.names, set, remove...); err != nil {
		return apiProblem(err, fmt.Sprintf("writing configmap %s/%s", s.names.Namespace, live.ControlName(s.names.Cluster)))
	}
	return nil
}

// caller is who gives a word, as the API server calls them, and when.
type caller struct {
	name string
	// now is the clock of the API server, to the second, because others go by what is said; that of this machine if it does not tell.
	now time.Time
	// own is the clock of this machine; told is false when now is that.
	own  time.Time
	told bool
}

// caller asks the API server who is asking; else the kubeconfig says it.
func (s site) caller(ctx context.Context, now time.Time) caller {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c := caller{name: cmp.Or(s.kube.User, "somebody"), now: now, own: now}
	review, err := s.kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return c
	}
	c.name = cmp.Or(review.Status.UserInfo.Username, c.name)
	if at := review.CreationTimestamp; !at.IsZero() {
		c.now, c.told = at.Time, true
	}
	return c
}

// skewed is how far two clocks may be apart before people should know.
const skewed = 30 * time.Second

// tell says whose clock counts, where that is not plain.
func (c caller) tell(w io.Writer) {
	switch apart := c.own.Sub(c.now).Abs().Round(time.Second); {
	case !c.told:
		fmt.Fprintf(w, "the API server does not say its time: what is said now has the time of this machine, %s\n", stamp(c.own))
	case apart > skewed:
		fmt.Fprintf(w, "the clock of this machine is %s off that of the API server, which counts: it is %s\n", apart, stamp(c.now))
	}
}
