package clusters

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func mustLoadFleet(t *testing.T, text string) Fleet {
	t.Helper()
	f, err := LoadFleet("fleet.yaml", []byte(text))
	if err != nil {
		t.Fatalf("loading:\n%s\n%v", text, err)
	}
	return f
}

func TestGoodFleetsLoadWithTheirDefaultsAndToTheSame(t *testing.T) {
	each(t, "testdata/fleet/good/*.yaml", func(t *testing.T, file string, data []byte) {
		f := mustLoadFleet(t, string(data))
		text, err := yaml.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, strings.TrimSuffix(file, ".yaml")+".loaded", string(text))
		if diff := cmp.Diff(f, mustLoadFleet(t, string(text))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBadFleetsSayWhatIsWrong(t *testing.T) {
	each(t, "testdata/fleet/bad/*.yaml", func(t *testing.T, file string, data []byte) {
		_, err := LoadFleet(filepath.Base(file), data)
		if err == nil {
			t.Fatal("no error")
		}
		if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "ghp_") {
			t.Error("a secret is repeated")
		}
		golden(t, strings.TrimSuffix(file, ".yaml")+".txt", err.Error()+"\n")
	})
}

func TestAFileOfTheOtherKindSaysSo(t *testing.T) {
	p := problemAt(t, readFile(t, "testdata/fleet/good/minimal.yaml"), "kind")
	if p.Message != "must be Cluster" || p.Hint == "" {
		t.Error(p)
	}
}

// aFleet has everything that it can say for its clusters.
func aFleet(t *testing.T) Fleet {
	return mustLoadFleet(t, readFile(t, "testdata/fleet/good/full.yaml"))
}

func TestAClusterIsPublishedWhereItsFleetIs(t *testing.T) {
	f := aFleet(t)
	c, err := f.Load("prod/eu/cluster-1.yaml", []byte(base))
	if err != nil {
		t.Fatal(err)
	}
	want := Publish{
		PublishTo: f.Spec.Publish, Path: "prod/eu",
		Policy:      PublishPolicy{Failover: "commit", Membership: "commit", Scale: "commit", Config: "commit"},
		PullRequest: PullRequest{Branch: "poolwright/example-pg", Merge: "byPeople"},
	}
	if diff := cmp.Diff(want, c.Spec.Publish); diff != "" {
		t.Error(diff)
	}
	again, err := f.Load("prod/eu/cluster-1.yaml", []byte(base))
	if diff := cmp.Diff(c, again); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestAClusterSaysTheRestItself(t *testing.T) {
	for keys, want := range map[string]func(Publish) bool{
		"path: elsewhere":                    func(p Publish) bool { return p.Path == "elsewhere" },
		"policy: {scale: pullRequest}":       func(p Publish) bool { return p.Policy.Scale == "pullRequest" }, // the forge is the fleet's
		"pullRequest: {labels: [a]}":         func(p Publish) bool { return len(p.PullRequest.Labels) == 1 },
		"batchWindow: 1m, revertHold: 2m":    func(p Publish) bool { return text(p.BatchWindow) == "1m0s" && text(p.RevertHold) == "2m0s" },
		"author: {name: a, email: a@b}":      func(p Publish) bool { return p.Author == Person{"a", "a@b"} && p.Committer.Name == "databases" },
		"branch: live, via: git":             func(p Publish) bool { return p.Branch == "live" },
		onGitHub[:len(onGitHub)-3] + ".git'": func(p Publish) bool { return p.Forge != nil },
		"committer: {name: c, email: c@d}":   func(p Publish) bool { return p.Committer == Person{"c", "c@d"} && p.Author.Name == "databases" },
		"trailers: {Team: x}, path: a/b":     func(p Publish) bool { return p.Trailers["Team"] == "x" && p.Path == "a/b" },
	} {
		c, err := aFleet(t).Load("clusters/a/cluster.yaml", []byte(publishWith(keys)))
		if err != nil || !want(c.Spec.Publish) {
			t.Errorf("%s: %v\n%+v", keys, err, c.Spec.Publish)
		}
	}
}

func TestAClusterOfAFleetChoosesNeitherPlaceNorCredentials(t *testing.T) {
	for keys, path := range map[string]string{
		"repository: 'https://github.com/platform/other.git'": "repository",
		"branch: main":            "branch",
		"via: github":             "via",
		"auth: {tokenEnv: TOKEN}": "auth",
		"forge: {type: github, api: 'https://git.example.com/api/v3/', repository: a/b}": "forge",
		"signing: {format: ssh, keyFile: /other}":                                        "signing",
		"policy: {all: commit}":                                                          "policy.all",
		"auth: {caFile: /ca}":                                                            "auth",
	} {
		_, err := aFleet(t).Load("clusters/a/cluster.yaml", []byte(publishWith(keys)))
		problems, _ := err.(Errors)
		if len(problems) != 1 || problems[0].Path != "spec.publish."+path || problems[0].Line != 10 || problems[0].File != "clusters/a/cluster.yaml" {
			t.Errorf("%s: %v", keys, err)
		}
	}
}

func TestAFileInTheRootSaysWhereToPublish(t *testing.T) {
	_, err := aFleet(t).Load("cluster.yaml", []byte(base))
	if problems, _ := err.(Errors); len(problems) != 1 || problems[0].Path != "spec.publish.path" {
		t.Error(err)
	}
	if c, err := aFleet(t).Load("cluster.yaml", []byte(publishWith("path: clusters/a"))); err != nil || c.Dir() != "clusters/a" {
		t.Error(err)
	}
}

func TestWithoutAForgeOfTheFleetThereAreNoPullRequests(t *testing.T) {
	f := mustLoadFleet(t, readFile(t, "testdata/fleet/good/minimal.yaml"))
	_, err := f.Load("clusters/a/cluster.yaml", []byte(publishWith("policy: {scale: pullRequest}")))
	if problems, _ := err.(Errors); len(problems) != 1 || problems[0].Path != "spec.publish.policy.scale" {
		t.Error(err)
	}
}

func TestPatternsOfClusterFiles(t *testing.T) {
	fleet := func(pattern string) string {
		b, _ := json.Marshal(pattern)
		return strings.Replace(readFile(t, "testdata/fleet/good/minimal.yaml"), "clusters/*/cluster.yaml", string(b), 1)
	}
	for _, good := range []string{"cluster.yaml", "*.yaml", "clusters/*/cluster.yaml", "**/cluster.yaml", "a/**/b/**/*-pg.y?ml", "[ab]/c.yaml"} {
		mustLoadFleet(t, fleet(good))
	}
	for _, bad := range []string{"/clusters/*.yaml", "clusters/", "./a.yaml", "../a.yaml", "a/../b.yaml", "a//b.yaml", ".", "**", "clusters/**", "a**/b.yaml", "[a/b.yaml", ".git/x.yaml", "a/.GIT/*", "a\nb.yaml"} {
		_, err := LoadFleet("fleet.yaml", []byte(fleet(bad)))
		if problems, _ := err.(Errors); len(problems) != 1 || problems[0].Path != "spec.clusters" || problems[0].Line != 8 {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestHooksThatCannotBe(t *testing.T) {
	for _, c := range []struct{ path, keys string }{
		{"listen", "github: {secretEnv: S}"},
		{"listen", "listen: ':8443'"},
		{"listen", "listen: '8443', github: {secretEnv: S}"},
		{"listen", "listen: ':0', github: {secretEnv: S}"},
		{"listen", "listen: ':65536', github: {secretEnv: S}"},
		{"listen", "listen: 'a b:1', github: {secretEnv: S}"},
		{"listen", "listen: 'https://a:1', github: {secretEnv: S}"},
		{"github.secretFile", "listen: ':1', github: {secretEnv: S, secretFile: /s}"},
		{"github.secretEnv", "listen: ':1', github: {secretEnv: 'a b'}"},
		{"github.secret", "listen: ':1', github: {secret: hunter2, secretEnv: S}"},
		{"cloudevents.tokenFile", "listen: ':1', cloudevents: {tokenEnv: S, tokenFile: /s}"},
		{"sns.topics[0]", "listen: ':1', sns: {topics: ['*']}"},
		{"sns.topics[1]", "listen: ':1', sns: {topics: ['arn:aws:sns:a:123456789012:b', 'arn:aws:sns:a:123456789012:b']}"},
	} {
		_, err := LoadFleet("fleet.yaml", []byte(readFile(t, "testdata/fleet/good/minimal.yaml")+"  hooks: {"+c.keys+"}\n"))
		problems, _ := err.(Errors)
		if len(problems) != 1 || problems[0].Path != "spec.hooks."+c.path || problems[0].Line != 9 || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", c.keys, err)
		}
	}
	for _, address := range []string{"':8443'", "127.0.0.1:1", "hooks.internal:65535", "'[::1]:8443'"} {
		mustLoadFleet(t, readFile(t, "testdata/fleet/good/minimal.yaml")+"  hooks: {listen: "+address+", github: {secretFile: /s}}\n")
	}
}
