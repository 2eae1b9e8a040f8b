package gitsync

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"

	"github.com/go-git/go-git/v5/plumbing"
)

// object is a Git object that we made.
type object struct {
	kind plumbing.ObjectType
	hash hash
	data []byte
}

// encodePack writes a version 2 pack of whole objects: a commit of ours is a few of them, and no delta
// would pay for the code.
func encodePack(objs []object) []byte {
	var b bytes.Buffer
	b.WriteString("PACK")
	b.Write(binary.BigEndian.AppendUint32(nil, 2))
	b.Write(binary.BigEndian.AppendUint32(nil, uint32(len(objs))))
	z := zlib.NewWriter(&b)
	for _, o := range objs {
		b.Write(packHeader(o.kind, len(o.data)))
		z.Reset(&b)
		_, _ = z.Write(o.data) // bytes.Buffer does not fail
		_ = z.Close()
	}
	sum := sha1.Sum(b.Bytes())
	b.Write(sum[:])
	return b.Bytes()
}

// packHeader is type and size in Git's variable-length form: 4 bits of size in the first byte, 7 in each after it.
func packHeader(kind plumbing.ObjectType, size int) []byte {
	n := uint64(size)
	c := byte(kind)<<4 | byte(n&15)
	var out []byte
	for n >>= 4; n > 0; n >>= 7 {
		out = append(out, c|0x80)
		c = byte(n & 0x7f)
	}
	return append(out, c)
}
