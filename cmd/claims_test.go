package cmd

import (
	"testing"

	"github.com/poolwright/poolwright/clusters"
)

func TestOnePlaceHasOneFile(t *testing.T) {
	c := newClaims()
	at := func(dir string) place { return place{"https://git.example.com/x.git", "main", dir} }
	elsewhere := place{"https://git.example.com/x.git", "next", "clusters/a"}
	for _, step := range []struct {
		says, file string
		at         place
		refused    bool
	}{
		{"the first file has the place", "a.yaml", at("clusters/a"), false},
		{"and keeps it", "a.yaml", at("clusters/a"), false},
		{"a second one does not get it", "b.yaml", at("clusters/a"), true},
		{"nor what is inside of it", "b.yaml", at("clusters/a/base"), true},
		{"nor what it is inside of", "b.yaml", at("clusters"), true},
		{"a name that only begins like it is another place", "b.yaml", at("clusters/ab"), false},
		{"another branch is another place", "c.yaml", elsewhere, false},
		{"the first file goes away", "a.yaml", at("clusters/z"), false},
		{"and its place is free", "b.yaml", at("clusters/a"), false},
	} {
		if err := c.dir(step.file, step.at); (err != nil) != step.refused {
			t.Errorf("%s: got %v", step.says, err)
		}
	}
}

// TestAClusterIsKeptByOneFile: two files in different directories, or repositories, may not declare the same cluster.
func TestAClusterIsKeptByOneFile(t *testing.T) {
	c := newClaims()
	for _, step := range []struct {
		path, name string
		taken      bool
	}{
		{path: "a.yaml", name: "db/story"},
		{path: "a.yaml", name: "db/story"},
		{path: "b.yaml", name: "db/story", taken: true},
		{path: "b.yaml", name: "other/story"},
		{path: "a.yaml", name: "db/renamed"},
		{path: "b.yaml", name: "db/story"},
		{path: "a.yaml", name: "db/story", taken: true},
	} {
		if err := c.name(step.path, step.name); (err != nil) != step.taken {
			t.Errorf("%s declares %s: %v", step.path, step.name, err)
		}
	}
}

// TestAPullRequestIsOfOneCluster: two clusters of one name in two namespaces have the same branch by default, and would write each
// other's pull request over.
func TestAPullRequestIsOfOneCluster(t *testing.T) {
	const here = "shop/platform"
	c := newClaims()
	for _, step := range []struct {
		says, file, repository, branch string
		refused                        bool
	}{
		{"the first has the branch", "a.yaml", here, "poolwright/story", false},
		{"and keeps it", "a.yaml", here, "poolwright/story", false},
		{"a second one does not get it", "b.yaml", here, "poolwright/story", true},
		{"nor is one that letters alone tell apart another repository", "b.yaml", "Shop/Platform", "poolwright/story", true},
		{"nor one below it, which Git cannot have beside it", "b.yaml", here, "poolwright/story/b", true},
		{"one of its own is", "b.yaml", here, "poolwright/b-story", false},
		{"and so is the same in another repository", "c.yaml", "shop/other", "poolwright/story", false},
		{"a cluster without a forge has none", "d.yaml", "", "", false},
		{"two of those neither", "e.yaml", "", "", false},
		{"the first gives its forge up", "a.yaml", "", "", false},
		{"and its branch is free", "b.yaml", here, "poolwright/story", false},
	} {
		var d declaration
		d.Cluster.Spec.Publish.Path = "clusters/" + step.file
		if step.branch != "" {
			d.Cluster.Spec.Publish.Forge = &clusters.Forge{API: "https://api.github.com/", Repository: step.repository}
			d.Cluster.Spec.Publish.PullRequest.Branch = step.branch
		}
		if err := c.take(step.file, d, false); (err != nil) != step.refused {
			t.Errorf("%s: got %v", step.says, err)
		}
	}
	c.leave("b.yaml")
	if len(c.pulls) != 1 {
		t.Errorf("after one has left, %v is claimed, want that of c.yaml", c.pulls)
	}
}
