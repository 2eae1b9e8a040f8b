package aurorasim_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/poolwright/poolwright/discovery/aurorasim"
)

// bytesOf are messages as they go over the wire.
func bytesOf(f *testing.F, messages ...pgproto3.FrontendMessage) []byte {
	f.Helper()
	var b []byte
	for _, m := range messages {
		var err error
		if b, err = m.Encode(b); err != nil {
			f.Fatal(err)
		}
	}
	return b
}

// FuzzClientBytes: whatever a client sends, the simulator neither panics nor keeps the session when the client has gone.
func FuzzClientBytes(f *testing.F) {
	hello := &pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "app"}}
	f.Add(false, []byte{})
	f.Add(false, bytesOf(f, &pgproto3.SSLRequest{}, &pgproto3.GSSEncRequest{}, hello))
	f.Add(false, bytesOf(f, &pgproto3.CancelRequest{ProcessID: 1, SecretKey: []byte{1, 2, 3, 4}}))
	f.Add(true, bytesOf(f, hello, &pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("n,,n=,r=abc")}))
	f.Add(false, bytesOf(f, hello, &pgproto3.Query{String: view}, &pgproto3.Terminate{}))
	f.Add(false, bytesOf(f, hello, &pgproto3.Parse{Query: view}, &pgproto3.Bind{ResultFormatCodes: []int16{1}}, &pgproto3.Execute{MaxRows: 1}, &pgproto3.Sync{}))
	f.Add(false, append(bytesOf(f, hello), 'Q', 0xff, 0xff, 0xff, 0xff))
	f.Add(false, append(bytesOf(f, hello), 'B', 0, 0, 0, 6, 0, 0))

	plain, err := aurorasim.Start(aurorasim.Config{Name: "fuzz", Instances: []string{"a"}, InMemory: true})
	if err != nil {
		f.Fatal(err)
	}
	secret, err := aurorasim.Start(aurorasim.Config{Name: "fuzz", Instances: []string{"a"}, InMemory: true, Password: "secret", TLS: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { plain.Close(); secret.Close() })
	f.Fuzz(func(t *testing.T, password bool, sent []byte) {
		c := plain
		if password {
			c = secret
		}
		conn, err := c.Dial(t.Context(), "tcp", c.Addr("a"))
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, conn)
		}()
		_, _ = io.Copy(conn, bytes.NewReader(sent))
		_ = conn.Close()
		<-read
		if err := c.Wait(context.Background(), func(s aurorasim.State) bool { return s.Instances[0].Sessions == 0 }); err != nil {
			t.Fatal(err)
		}
	})
}
