//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// request is a line of the API server's audit log, which has one for each request when it is answered.
type request struct {
	AuditID                  string
	Verb                     string
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
	User                     struct{ Username string }
	ObjectRef                struct{ Resource, Namespace, Name, Subresource string }
	ResponseStatus           struct{ Code int }
}

// audited is how long the audit log is.
func (c *cluster) audited() int64 {
	c.t.Helper()
	info, err := os.Stat(filepath.Join(c.dir, "audit.log"))
	check(c.t, err)
	return info.Size()
}

// auditSince are the requests of poolwright in the audit log from an offset on, each once; a watch is there from its beginning.
func (c *cluster) auditSince(offset int64) (found []request) {
	c.t.Helper()
	f, err := os.Open(filepath.Join(c.dir, "audit.log"))
	check(c.t, err)
	defer f.Close()
	_, err = f.Seek(offset, io.SeekStart)
	check(c.t, err)
	text, err := io.ReadAll(f)
	check(c.t, err)
	known, user := map[string]bool{}, "system:serviceaccount:"+c.ns+":poolwright"
	for line := range bytes.Lines(text[:bytes.LastIndexByte(text, '\n')+1]) { // the last one may be being written
		var r request
		check(c.t, json.Unmarshal(line, &r))
		if r.User.Username == user && !known[r.AuditID] {
			known[r.AuditID] = true
			found = append(found, r)
		}
	}
	return found
}

// patchOf is the first patch of a Service that was carried out since an offset.
func (c *cluster) patchOf(service string, offset int64) request {
	c.t.Helper()
	all := c.auditSince(offset)
	i := slices.IndexFunc(all, func(r request) bool {
		return r.Verb == "patch" && r.ObjectRef.Resource == "services" && r.ObjectRef.Name == service && r.ResponseStatus.Code == http.StatusOK
	})
	if i < 0 {
		c.t.Fatalf("the audit log has no patch of %s", service)
	}
	return all[i]
}
