package aurorasim

import (
	"context"
	"net"
)

// inbox reads a connection ahead of the session, so that the client's end is noticed while the session is silent or slow.
type inbox struct {
	net.Conn
	chunks chan []byte
	rest   []byte
	err    error // of the last read; valid once chunks is closed
}

// inboxChunks of inboxChunk bytes are read ahead at most.
const inboxChunks, inboxChunk = 16, 4096

// pump reads until the connection or ctx ends, and calls gone then.
func (b *inbox) pump(ctx context.Context, gone func()) {
	defer gone()
	defer close(b.chunks)
	for {
		chunk := make([]byte, inboxChunk)
		n, err := b.Conn.Read(chunk)
		if n > 0 {
			select {
			case b.chunks <- chunk[:n]:
			case <-ctx.Done():
				b.err = ctx.Err()
				return
			}
		}
		if err != nil {
			b.err = err
			return
		}
	}
}

// Read implements net.Conn from what was read ahead.
func (b *inbox) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		chunk, ok := <-b.chunks
		if !ok {
			return 0, b.err
		}
		b.rest = chunk
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}
