package githubfake

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

func getBlob(c *call) answer {
	sha := c.r.PathValue("sha")
	data, found := c.s.store.blob(sha)
	if !found {
		return missing()
	}
	if strings.Contains(c.r.Header.Get("Accept"), "raw") {
		c.header.Set("Content-Type", "application/vnd.github.raw; charset=utf-8")
		return ok(data)
	}
	return ok(doc{
		"sha": sha, "node_id": "B_" + sha, "size": len(data), "url": c.s.address("git/blobs/%s", sha),
		"content": wrapped(base64.StdEncoding.EncodeToString(data)), "encoding": "base64",
	})
}

// wrapped breaks lines after 60 characters, as GitHub does.
func wrapped(text string) string {
	var b strings.Builder
	for len(text) > 60 {
		b.WriteString(text[:60] + "\n")
		text = text[60:]
	}
	return b.String() + text + "\n"
}

func createBlob(c *call) answer {
	var in struct {
		Content  *string `json:"content"`
		Encoding string  `json:"encoding"`
		Size     *int    `json:"size"` // go-github sends what it has
	}
	if a, ok := c.read(&in); !ok {
		return a
	}
	if in.Content == nil {
		return unprocessable("Invalid request.\n\n\"content\" wasn't supplied.")
	}
	data := []byte(*in.Content)
	switch in.Encoding {
	case "", "utf-8":
	case "base64":
		var err error
		if data, err = base64.StdEncoding.DecodeString(strings.ReplaceAll(*in.Content, "\n", "")); err != nil {
			return unprocessable("content is not valid Base64")
		}
	default:
		return unprocessable("encoding must be either 'utf-8' or 'base64'")
	}
	sha, err := c.s.store.putBlob(data)
	return c.stored(sha, err, "git/blobs/"+sha, doc{"sha": sha})
}

// stored is 201 with an object's address, or what the disk said.
func (c *call) stored(sha string, err error, path string, body doc) answer {
	if err != nil {
		c.s.t.Errorf("writing %s: %v", sha, err)
		return refuse(http.StatusInternalServerError, "Server Error")
	}
	body["url"] = c.s.address("%s", path)
	c.header.Set("Location", c.s.address("%s", path))
	return created(body)
}

// kinds are the modes that GitHub takes, with the type that goes with each.
func kindOf(mode string) (string, bool) {
	kind, ok := map[string]string{
		"100644": "blob", "100755": "blob", "120000": "blob", "040000": "tree", "160000": "commit",
	}[mode]
	return kind, ok
}

func getTree(c *call) answer {
	sha := c.resolveTree(c.r.PathValue("sha"))
	if _, found := c.s.store.tree(sha); !found && sha != emptyTree {
		return missing()
	}
	// Any value asks for it, "0" and "false" too.
	recursive := c.r.URL.Query().Has("recursive")
	entries, truncated := []doc{}, false
	c.walk(sha, "", func(path string, e object.TreeEntry) bool {
		if truncated = len(entries) >= c.s.o.MaxTree; truncated {
			return false
		}
		entries = append(entries, c.treeEntry(path, e))
		return recursive
	})
	return ok(doc{"sha": sha, "url": c.s.address("git/trees/%s", sha), "tree": entries, "truncated": truncated})
}

// resolveTree is the tree of a tree's or commit's name, or of a branch.
func (c *call) resolveTree(name string) string {
	if sha, ok := c.s.now.heads[name]; ok {
		name = sha
	}
	if commit, ok := c.s.store.commit(name); ok {
		return commit.TreeHash.String()
	}
	return name
}

// walk shows each entry below a tree; where show says so it goes into a directory.
func (c *call) walk(sha, prefix string, show func(path string, e object.TreeEntry) bool) {
	t, ok := c.s.store.tree(sha)
	if !ok {
		return
	}
	for _, e := range t.Entries {
		if show(prefix+e.Name, e) && e.Mode == filemode.Dir {
			c.walk(e.Hash.String(), prefix+e.Name+"/", show)
		}
	}
}

func (c *call) treeEntry(path string, e object.TreeEntry) doc {
	sha, mode := e.Hash.String(), fmt.Sprintf("%06o", uint32(e.Mode))
	d := doc{"path": path, "mode": mode, "sha": sha, "type": "blob"}
	switch e.Mode {
	case filemode.Submodule:
		d["type"] = "commit" // no url: it is elsewhere
		return d
	case filemode.Dir:
		d["type"], d["url"] = "tree", c.s.address("git/trees/%s", sha)
		return d
	default:
		d["url"] = c.s.address("git/blobs/%s", sha)
	}
	if size, err := c.s.store.EncodedObjectSize(e.Hash); err == nil {
		d["size"] = size
	}
	return d
}

// newEntry is one of a tree that is made. SHA is a pointer to a pointer: null deletes, none is none.
type newEntry struct {
	Path    string   `json:"path"`
	Mode    string   `json:"mode"`
	Type    string   `json:"type"`
	SHA     nullable `json:"sha"`
	Content *string  `json:"content"`
}

// nullable tells null from absent.
type nullable struct {
	given bool
	value *string
}

func (n *nullable) UnmarshalJSON(b []byte) error {
	n.given = true
	if string(b) == "null" {
		return nil
	}
	text := strings.Trim(string(b), `"`)
	n.value = &text
	return nil
}

func createTree(c *call) answer {
	var in struct {
		BaseTree string     `json:"base_tree"`
		Tree     []newEntry `json:"tree"`
	}
	if a, ok := c.read(&in); !ok {
		return a
	}
	if len(in.Tree) == 0 {
		return unprocessable("Invalid tree info")
	}
	if _, ok := c.s.store.tree(in.BaseTree); !ok && in.BaseTree != "" {
		return unprocessable("base_tree is not a valid tree oid")
	}
	changes := map[string]change{}
	for _, e := range in.Tree {
		ch, problem := c.newEntry(e)
		if problem != "" {
			return unprocessable(problem)
		}
		if _, twice := changes[e.Path]; twice {
			c.s.t.Errorf("POST git/trees: %s is there twice", e.Path)
		}
		changes[e.Path] = ch
	}
	sha, err := c.s.store.graft(in.BaseTree, changes)
	if sha == emptyTree {
		sha, err = c.s.store.putTree(nil)
	}
	if errors.Is(err, errNoSuchFile) {
		return unprocessable("GitRPC::BadObjectState")
	}
	if err != nil {
		return c.stored(sha, err, "", nil)
	}
	entries := []doc{}
	c.walk(sha, "", func(path string, e object.TreeEntry) bool {
		entries = append(entries, c.treeEntry(path, e))
		return false
	})
	return c.stored(sha, nil, "git/trees/"+sha, doc{"sha": sha, "tree": entries, "truncated": false})
}

var malformed = regexp.MustCompile(`(?i)(^|/)(\.{1,2}|\.git)?(/|$)`)

// newEntry checks one entry and writes its content.
func (c *call) newEntry(e newEntry) (change, string) {
	kind, known := kindOf(e.Mode)
	switch {
	case malformed.MatchString(e.Path):
		return change{}, "tree.path contains a malformed path component"
	case !known:
		return change{}, fmt.Sprintf("tree.mode %s is not a valid file mode", e.Mode)
	case e.Type != "" && e.Type != kind:
		return change{}, fmt.Sprintf("tree.type %s does not go with tree.mode %s", e.Type, e.Mode)
	case e.SHA.given == (e.Content != nil):
		return change{}, "Must supply either tree.sha or tree.content. Request will be rejected if both are present."
	case e.SHA.given && e.SHA.value == nil && kind == "tree":
		return change{}, "GitRPC::BadObjectState"
	case e.SHA.given && e.SHA.value == nil:
		return change{gone: true}, ""
	case e.Content != nil && kind != "blob":
		return change{}, "tree.content is for blobs"
	}
	mode, err := filemode.New(e.Mode)
	if err != nil {
		return change{}, err.Error()
	}
	sha := ""
	if e.Content != nil {
		if sha, err = c.s.store.putBlob([]byte(*e.Content)); err != nil {
			return change{}, err.Error()
		}
	} else if sha = *e.SHA.value; kind != "commit" && c.s.store.kind(sha).String() != kind {
		return change{}, fmt.Sprintf("tree.sha %s is not a valid %s", sha, kind)
	}
	return change{mode: mode, sha: sha}, ""
}

// person is an author or a committer of a commit that is made.
type person struct {
	Name  string     `json:"name"`
	Email string     `json:"email"`
	Date  *time.Time `json:"date"`
}

func (p person) signature(now time.Time) object.Signature {
	when := now
	if p.Date != nil {
		when = *p.Date
	}
	return object.Signature{Name: p.Name, Email: p.Email, When: when.Truncate(time.Second)}
}

// newCommit is the body of POST git/commits.
type newCommit struct {
	Message   string   `json:"message"`
	Tree      string   `json:"tree"`
	Parents   []string `json:"parents"`
	Author    *person  `json:"author"`
	Committer *person  `json:"committer"`
	Signature string   `json:"signature"`
}

func createCommit(c *call) answer {
	var in newCommit
	if a, ok := c.read(&in); !ok {
		return a
	}
	if problem := c.checkCommit(in); problem != "" {
		return unprocessable(problem)
	}
	commit := &object.Commit{TreeHash: plumbing.NewHash(in.Tree), Message: in.Message, PGPSignature: in.Signature}
	for _, p := range in.Parents {
		commit.ParentHashes = append(commit.ParentHashes, plumbing.NewHash(p))
	}
	// GitHub signs for an App that does not say who it is; GitHub is then the committer.
	signs := c.who.bot() && in.Author == nil && in.Committer == nil && in.Signature == ""
	commit.Author = c.self()
	if in.Author != nil {
		commit.Author = in.Author.signature(c.now)
	}
	switch commit.Committer = commit.Author; {
	case in.Committer != nil:
		commit.Committer = in.Committer.signature(c.now)
	case signs:
		commit.Committer = github(c.now)
	}
	sha, err := c.s.putCommit(commit, signs)
	if err != nil {
		return c.stored(sha, err, "", nil)
	}
	commit, _ = c.s.store.commit(sha)
	return c.stored(sha, nil, "git/commits/"+sha, c.s.gitCommit(commit))
}

func (c *call) checkCommit(in newCommit) (problem string) {
	if in.Message == "" {
		return "Invalid request.\n\n\"message\" wasn't supplied."
	}
	if _, found := c.s.store.tree(in.Tree); !found && in.Tree != emptyTree {
		return "Tree SHA does not exist"
	}
	for _, p := range in.Parents {
		if c.s.store.kind(p) != plumbing.CommitObject {
			return "Parent SHA does not exist or is not a commit object"
		}
	}
	for _, p := range []*person{in.Author, in.Committer} {
		if p != nil && (p.Name == "" || p.Email == "") {
			return "Invalid request.\n\n\"email\", \"name\" weren't supplied."
		}
	}
	return ""
}
