//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/gitsync/gitserver"
	"github.com/poolwright/poolwright/test/driver"
)

// bootstrapArgo is bootstrap with a component of the user's in custom/: ConfigMap note. Argo CD applies it all.
func bootstrapArgo(t *testing.T, a argo) *cluster {
	t.Helper()
	c := newCluster(t, a)
	c.someone("a note", "clusters/story/custom/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [note.yaml]\n",
		"clusters/story/custom/note.yaml", note("note", "one"))
	c.start()
	c.git.AwaitSubject(2, "first tree, writer a")
	c.tool.begin(c)
	c.awaitRest("a", 1)
	c.awaitNote("one")
	return c
}

// note is the manifest in custom/.
func note(name, text string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {text: %q}\n", name, text)
}

// awaitNote waits until the note says something: its commit has been applied.
func (c *cluster) awaitNote(text string) {
	c.t.Helper()
	c.await(c.t, "the note to say "+text, func() bool { return c.data("note")["text"] == text })
}

// someone commits, straight into the repository. files are paths and contents.
func (c *cluster) someone(message string, files ...string) (commit string) {
	c.t.Helper()
	changed := map[string]*gitserver.File{}
	for i := 0; i < len(files); i += 2 {
		changed[files[i]] = gitserver.Text(files[i+1])
	}
	commit, err := c.git.Commit("main", message, changed)
	check(c.t, err)
	return commit
}

// holdUntil keeps pushes waiting until open is closed.
func holdUntil(open <-chan struct{}) func(http.ResponseWriter, *http.Request) bool {
	return func(_ http.ResponseWriter, r *http.Request) bool {
		if driver.IsPush(r) {
			select {
			case <-open:
			case <-r.Context().Done():
			}
		}
		return false
	}
}

// exposure is one time in which somebody had the Writer Service back at an old instance during an override.
type exposure struct {
	by string
	// lasted is from the watch's event of the revert to its event of the next patch of poolwright's; 0 while it lasts.
	lasted time.Duration
}

// exposures are all reverts of the Writer Service so far. It needs the stage's mutex.
func (s *stage) exposures() (found []exposure) {
	ours, since := "", time.Time{}
	for _, p := range s.past {
		if p.object != "service/story-writer" || p.service.manager == "" {
			continue
		}
		by, _, _ := strings.Cut(p.service.manager, " ")
		switch {
		case by == fieldManager && !since.IsZero():
			found[len(found)-1].lasted = p.at.Sub(since)
			ours, since = p.service.instance(), time.Time{}
		case by == fieldManager:
			ours = p.service.instance()
		case ours != "" && p.service.instance() != ours && since.IsZero():
			found, since = append(found, exposure{by: by}), p.at
		}
	}
	return found
}

// awaitReverts waits until the Writer Service has been put back n times, and moved again each time.
func (c *cluster) awaitReverts(n int) {
	c.t.Helper()
	c.await(c.t, fmt.Sprintf("%d reverts, all undone", n), func() bool {
		all := c.exposures()
		return len(all) >= n && !slices.ContainsFunc(all, func(e exposure) bool { return e.lasted == 0 })
	})
}

// wantReverters wants nobody else to have put the Writer Service back, and tells how long it lasted.
func (c *cluster) wantReverters(name string) {
	c.t.Helper()
	lasted := figure{what: "put back → moved again"}
	for _, e := range now(c.stage, c.exposures) {
		lasted.add(e.lasted)
		if e.by != name {
			c.t.Errorf("%s put the Writer Service back, want %s alone to", e.by, name)
		}
	}
	c.t.Log(lasted.row())
}

// wantOwners wants a role's selector to be owned by these, "name Operation".
func (c *cluster) wantOwners(role string, want ...string) {
	c.t.Helper()
	if got := now(c.stage, func() []string { return c.service(role).owners }); !slices.Equal(got, want) {
		c.t.Errorf("the %s's selector is owned by %q, want %q", role, got, want)
	}
}
