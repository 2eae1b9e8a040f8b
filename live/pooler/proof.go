package pooler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Access is what a proof is about.
type Access uint8

// The two ways to use a database.
const (
	Writes Access = iota + 1 // "writes": a writer must answer
	Reads                    // "reads": anybody may answer
)

const accessWords = ",writes,reads"

// String returns the word.
func (a Access) String() string { return strings.Split(accessWords, ",")[a] }

// MarshalText writes the word of String.
func (a Access) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Question is what is to be proved.
type Question struct {
	Access Access
	// Database to connect to.
	Database string
	// Table makes the proof of Writes a real write: one row for Cluster is put into this table, which has the columns
	// cluster (a text, the primary key) and proven_at (a timestamptz). "" believes what the node says of itself.
	Table, Cluster string
}

// Proof is the answer to a Question.
type Proof struct {
	Access  Access        `json:"access"`
	At      time.Time     `json:"at"` // when it was asked
	Took    time.Duration `json:"took"`
	Outcome Outcome       `json:"outcome"`
	// Fault and Code say why it failed, or that a node refused as one that cannot write; 0 and "" else.
	Fault Fault  `json:"-"`
	Code  string `json:"code,omitempty"`
	// Detail is for people, "" when it is proven.
	Detail string `json:"detail,omitempty"`
}

// Prove asks at host:port, over a connection of its own that it closes. It never fails: what went wrong is in the Proof.
func Prove(ctx context.Context, address string, c Config, q Question, now func() time.Time) Proof {
	p := Proof{Access: q.Access, At: now(), Outcome: Proven}
	err := prove(ctx, address, c, q)
	p.Took = now().Sub(p.At)
	if e, failed := errors.AsType[*Error](err); failed {
		p.Outcome, p.Fault, p.Code, p.Detail = Failed, e.Fault, e.Code, e.Detail
		if q.Access == Writes && isWrongRole(e.Code) { // 55000 is also what a database says that lets nobody in
			p.Outcome = RoleMismatch
		}
	}
	return p
}

// readOnly is the SQLSTATE of a write where none is possible.
const readOnly = "25006"

// isWrongRole reports whether an SQLSTATE means that the node is no writer.
func isWrongRole(code string) bool {
	return code == readOnly || code == "0A000" || code == "55000"
}

// prove returns an *Error, or nil.
func prove(ctx context.Context, address string, c Config, q Question) error {
	statement, err := q.statement()
	if err != nil {
		return err
	}
	connection, err := c.connect(ctx, address, q.Database)
	if err != nil {
		return err
	}
	defer connection.farewell()
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	t, err := connection.ask(ctx, statement)
	if err != nil || q.Access == Reads || q.Table != "" {
		return err
	}
	return t.writer()
}

// roleQuestion needs one round trip and spends no transaction id.
const roleQuestion = "SELECT pg_is_in_recovery() AS recovery, current_setting('transaction_read_only') AS readonly"

// statement is what is asked.
func (q Question) statement() (string, error) {
	if q.Access == Reads || q.Table == "" {
		return roleQuestion, nil
	}
	name, err := quoteTable(q.Table)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("INSERT INTO %s (cluster, proven_at) VALUES ('%s', now()) ON CONFLICT (cluster) DO UPDATE SET proven_at = excluded.proven_at",
		name, strings.ReplaceAll(q.Cluster, "'", "''")), nil
}

// quoteTable quotes a table's name, with or without its schema.
func quoteTable(name string) (string, error) {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		if p == "" || len(parts) > 2 || strings.ContainsRune(p, 0) {
			return "", &Error{Fault: Refused, Detail: fmt.Sprintf("%.63q is no table's name", name)}
		}
		parts[i] = `"` + strings.ReplaceAll(p, `"`, `""`) + `"`
	}
	return strings.Join(parts, "."), nil
}

// writer is nil when a node says that it can write.
func (t table) writer() error {
	if len(t.rows) != 1 {
		return &Error{Fault: Garbled, Detail: fmt.Sprintf("%d rows instead of one", len(t.rows))}
	}
	recovery, e1 := t.get(t.rows[0], "recovery")
	only, e2 := t.get(t.rows[0], "readonly")
	switch {
	case e1 != nil || e2 != nil:
		return cmp.Or(e1, e2)
	case recovery != "f":
		return &Error{Fault: Refused, Code: readOnly, Detail: "the node that answers is a standby"}
	case only != "off":
		return &Error{Fault: Refused, Code: readOnly, Detail: "the node that answers is read-only"}
	}
	return nil
}
