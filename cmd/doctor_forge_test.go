package cmd

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/gitsync/githubfake"
)

// TestC09C10DoctorAsksTheForgeOnAQuietDay: what will stand in the way of the next commit or pull request is found before there is one.
func TestC09C10DoctorAsksTheForgeOnAQuietDay(t *testing.T) {
	for says, c := range map[string]struct {
		change func(*counter)
		want   string
	}{
		"all is well":                             {func(*counter) {}, "ok forge: the credential may write"},
		"the repository is archived":              {func(c *counter) { c.hub.Archive(true) }, "fail forge: repository acme/platform is archived"},
		"the repository has another name":         {func(c *counter) { c.hub.Rename("acme/moved") }, "warn forge: repository acme/platform is called acme/moved now"},
		"the token was revoked":                   {func(c *counter) { c.hub.Revoke(c.hub.Token()) }, "fail forge: "},
		"the branch takes pull requests only":     {func(c *counter) { c.hub.SetRules("main", githubfake.Rules{PullRequest: true}) }, "fail rules: branch main takes changes by pull request only"},
		"the branch takes signed commits only":    {func(c *counter) { c.hub.SetRules("main", githubfake.Rules{Signatures: true}) }, "fail rules: branch main takes signed commits only"},
		"a required check never starts":           {func(c *counter) { c.hub.SetRules("main", githubfake.Rules{Checks: []string{"render"}}) }, "warn checks: branch main requires render, and none has started"},
		"the clock of this machine is off":        {func(c *counter) { c.hub.SetSkew(3 * time.Minute) }, "warn clock: the clock of this machine is 3m0s off"},
		"a signing key that is not there at all":  {func(c *counter) { signs(c, "no/such/key") }, "fail signing: "},
		"required checks that start are no worry": {requiredAndStarted, "ok checks: branch main requires render"},
	} {
		t.Run(says, func(t *testing.T) {
			k := newCounter(t, "git", "scale")
			c.change(k)
			e := &exam{site: site{declared: &k.decl}, world: outside{Now: func() time.Time { return k.now }}}
			e.publishing(t.Context())
			var said []string
			for _, f := range e.found {
				said = append(said, f.Result+" "+f.Check+": "+f.Text)
			}
			if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, c.want) }) {
				t.Errorf("found\n%s\nwant %s", strings.Join(said, "\n"), c.want)
			}
		})
	}
}

// signs makes commits be signed with the key of a file.
func signs(c *counter, file string) {
	c.decl.Cluster.Spec.Publish.Signing = &clusters.Signing{Format: "ssh", KeyFile: file}
}

func requiredAndStarted(c *counter) {
	c.hub.SetRules("main", githubfake.Rules{Checks: []string{"render"}})
	c.hub.SetStatus(c.hub.Repo().Tip("main"), "render", "success")
}
