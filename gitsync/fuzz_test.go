package gitsync

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// FuzzTree: whatever a remote calls a tree is read or refused, and what is read is written back as it was.
func FuzzTree(f *testing.F) {
	f.Add([]byte{})
	f.Add(encodeTree([]entry{{"100644", "a", hash{1}}, {"40000", "b", hash{2}}, {"120000", "c", hash{3}}}))
	f.Add([]byte("100644 a\x00short"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		es, err := parseTree(raw)
		if err == nil && !bytes.Equal(encodeTree(es), raw) {
			t.Errorf("%q is written back as %q", raw, encodeTree(es))
		}
	})
}

// FuzzSplice: a tree of a remote never makes us panic, and what we did not touch stays.
func FuzzSplice(f *testing.F) {
	f.Add(encodeTree([]entry{{"100644", "a", hash{1}}, {"40000", "b", hash{}}, {"120000", "c", hash{3}}}), "d", "text")
	f.Add(encodeTree([]entry{{"160000", "m", hash{1}}}), "m/x", "text")
	f.Fuzz(func(t *testing.T, raw []byte, path, text string) {
		v := newView()
		d := v.draft(Options{})
		root := d.add(plumbing.TreeObject, raw)
		e, err := planEdits(Change{Put: Files{path: []byte(text)}})
		if err != nil {
			return
		}
		h, err := splicer{d.tree, d.add}.splice(root, e, "")
		if err != nil {
			return
		}
		before, _ := parseTree(raw)
		after, err := parseTree(v.trees[h])
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(path, "/")
		if i := find(after, name); i >= 0 && (len(before) < len(after)) {
			after = append(after[:i:i], after[i+1:]...)
		}
		for i := range before {
			if before[i].name != name && before[i] != after[i] {
				t.Errorf("%+v became %+v", before[i], after[i])
			}
		}
	})
}

// FuzzCommit: any commit is read or refused.
func FuzzCommit(f *testing.F) {
	f.Add([]byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nRevert \"x\"\n\nThis reverts commit 1234567.\n\nA: b\n"))
	f.Add([]byte("tree \n\n\n\n\n: \n"))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		c, err := parseCommit(hash{}, raw)
		if err == nil {
			ReversalsOf([]Commit{c.Commit, c.Commit}, "A", "b")
		}
	})
}

// FuzzPack: any pack is read within its limit or refused.
func FuzzPack(f *testing.F) {
	blob := object{plumbing.BlobObject, plumbing.ComputeHash(plumbing.BlobObject, []byte("x")), []byte("x")}
	tree := object{plumbing.TreeObject, hash{}, encodeTree([]entry{{"100644", "a", blob.hash}})}
	f.Add(encodePack([]object{blob, tree}))
	f.Add(encodePack(nil))
	f.Add([]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff"))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		p, err := readPack(bytes.NewReader(raw), 1<<16)
		if err != nil {
			return
		}
		defer p.close()
		v := newView()
		if err := v.take(p); err != nil {
			return
		}
		for h := range v.trees {
			_, _ = v.sweep(h, 3)
			_, _, _ = v.files(h, "")
		}
	})
}

// FuzzAnswers: what a server says at each point of the protocol is understood or refused.
func FuzzAnswers(f *testing.F) {
	line := func(parts ...string) []byte {
		var b bytes.Buffer
		e := pktline.NewEncoder(&b)
		for _, p := range parts {
			_ = e.EncodeString(p)
		}
		_ = e.Flush()
		return b.Bytes()
	}
	one := strings.Repeat("1", 40)
	f.Add(line("# service=git-upload-pack\n"))
	f.Add(line(one+" HEAD\x00side-band-64k object-format=sha1\n", one+" refs/heads/main\n"))
	f.Add(line(strings.Repeat("0", 64) + " capabilities^{}\x00object-format=sha256\n"))
	f.Add(line("ERR access denied\n"))
	f.Add(append(line("shallow "+one+"\n"), line("NAK\n", "\x01PACK", "\x02hello", "\x03fatal: not our ref\n")...))
	f.Add(line("\x01" + string(line("unpack ok\n", "ng refs/heads/main failed to update ref\n"))))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		if adv, err := readRefs(bytes.NewReader(raw)); err == nil {
			_, _ = tipOf(adv, "main")
		}
		_ = readReport(bytes.NewReader(raw))
		for _, depth := range []int{0, 1} {
			req := packp.NewUploadPackRequest()
			req.Depth = packp.DepthCommits(depth)
			if p, err := readFetch(io.Reader(bytes.NewReader(raw)), req, 1<<16); err == nil {
				p.close()
			}
		}
	})
}

// FuzzLocation: an address is understood or refused; a password in it is refused, and no error repeats it.
func FuzzLocation(f *testing.F) {
	f.Add("https://user:", "@example.com/x")
	f.Add("git:", "@example.com:x")
	f.Add("ssh://git@example.com/", "x")
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "hunter2"
		l, err := parseLocation(before + secret + after)
		switch {
		case err != nil && strings.Contains(err.Error(), secret):
			t.Errorf("the error is %v", err)
		case err == nil && strings.HasPrefix(l.scheme, "http") && strings.Contains(l.host, "@"):
			t.Errorf("%q is taken as %+v", before+secret+after, l)
		case err == nil && l.scheme == "ssh" && (strings.Contains(l.user, ":") || strings.Contains(l.host, "@")):
			t.Errorf("%q is taken as %+v", before+secret+after, l)
		}
	})
}
