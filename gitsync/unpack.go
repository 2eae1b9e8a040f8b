package gitsync

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

const (
	// spoolInMemory is how much of a pack is kept in memory; a larger one goes to an unlinked temporary file.
	// A depth-1 blobless fetch of 50,000 files is 2.2 MB.
	spoolInMemory = 8 << 20
	// deltaCache bounds the inflated delta bases kept while reading a pack.
	deltaCache = 16 << 20
)

// received is a pack from the remote, indexed, its objects checked against their names.
type received struct {
	size int64
	objs []packed
	pack *packfile.Packfile
	src  packSource
}

type packed struct {
	hash hash
	kind plumbing.ObjectType
}

// readPack reads a pack of at most limit bytes; a larger one is errStale.
func readPack(r io.Reader, limit int64) (*received, error) {
	src, size, err := spool(r, limit)
	if err != nil {
		return nil, err
	}
	p := &received{size: size, src: src}
	if err := p.index(); err != nil {
		p.close()
		return nil, fmt.Errorf("reading the remote's pack: %w", err)
	}
	return p, nil
}

// index parses the whole pack once, which computes every object's name from its content.
func (p *received) index() error {
	if err := p.plausible(); err != nil {
		return err
	}
	idx, seen := new(idxfile.Writer), &census{}
	parser, err := packfile.NewParser(packfile.NewScanner(p.src), idx, seen)
	if err != nil {
		return err
	}
	if _, err := parser.Parse(); err != nil {
		return err
	}
	p.objs = seen.objs
	if len(p.objs) == 0 {
		return nil
	}
	index, err := idx.Index()
	if err != nil {
		return err
	}
	p.pack = packfile.NewPackfileWithCache(index, nil, p.src, cache.NewObjectLRU(deltaCache), 0)
	return nil
}

const (
	packHead  = 12 // "PACK", version, number of objects
	leastSize = 8  // of an object in a pack
)

// plausible checks the number of objects that a pack claims, for which memory is reserved, against its size.
func (p *received) plausible() error {
	var head [packHead]byte
	if _, err := p.src.ReadAt(head[:], 0); err != nil {
		return io.ErrUnexpectedEOF
	}
	if n := binary.BigEndian.Uint32(head[8:]); int64(n)*leastSize > p.size {
		return fmt.Errorf("%d objects in %d bytes", n, p.size)
	}
	return nil
}

// load returns an object's content.
func (p *received) load(h hash) ([]byte, error) {
	if p.pack == nil {
		return nil, plumbing.ErrObjectNotFound
	}
	o, err := p.pack.Get(h)
	if err != nil {
		return nil, err
	}
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func (p *received) close() { _ = p.src.Close() }

// census notes which objects a pack holds.
type census struct {
	kind plumbing.ObjectType
	objs []packed
}

func (c *census) OnHeader(uint32) error { return nil }

func (c *census) OnInflatedObjectHeader(t plumbing.ObjectType, _, _ int64) error {
	c.kind = t
	return nil
}

func (c *census) OnInflatedObjectContent(h plumbing.Hash, _ int64, _ uint32, _ []byte) error {
	c.objs = append(c.objs, packed{h, c.kind})
	return nil
}

func (c *census) OnFooter(plumbing.Hash) error { return nil }

// packSource is a spooled pack as go-git wants it (a billy file that nobody writes).
type packSource struct {
	io.ReadSeeker
	io.ReaderAt
	io.Closer
}

func (packSource) Name() string              { return "pack" }
func (packSource) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }
func (packSource) Lock() error               { return nil }
func (packSource) Unlock() error             { return nil }
func (packSource) Truncate(int64) error      { return errors.ErrUnsupported }

// spool takes in a pack.
func spool(r io.Reader, limit int64) (packSource, int64, error) {
	r = io.LimitReader(r, limit+1)
	var head bytes.Buffer
	n, err := io.CopyN(&head, r, spoolInMemory)
	if err != nil && !errors.Is(err, io.EOF) {
		return packSource{}, n, err
	}
	if n > limit {
		return packSource{}, n, errStale
	}
	if n < spoolInMemory {
		m := bytes.NewReader(head.Bytes())
		return packSource{m, m, io.NopCloser(nil)}, n, nil
	}
	return spoolFile(&head, r, limit)
}

func spoolFile(head, rest io.Reader, limit int64) (packSource, int64, error) {
	f, err := os.CreateTemp("", "pack-")
	if err != nil {
		return packSource{}, 0, err
	}
	_ = os.Remove(f.Name()) // the open file is all we need, and a crash leaves nothing behind
	n, err := io.Copy(f, io.MultiReader(head, rest))
	if err == nil && n > limit {
		err = errStale
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return packSource{}, n, err
	}
	return packSource{f, f, f}, n, nil
}
