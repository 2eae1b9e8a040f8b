package aurorasim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/poolwright/poolwright/discovery/aurorasim"
)

// exchange sends messages in a logged-in session and gives what comes back until the wanted number of ReadyForQuery, in short.
func exchange(t *testing.T, c *aurorasim.Cluster, ready int, messages ...pgproto3.FrontendMessage) []string {
	t.Helper()
	hijacked, err := connect(t, c, "a").PgConn().Hijack()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hijacked.Conn.Close() })
	f := hijacked.Frontend
	for _, m := range messages {
		f.Send(m)
	}
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for ready > 0 {
		m, err := f.Receive()
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		got = append(got, short(m))
		if _, ok := m.(*pgproto3.ReadyForQuery); ok {
			ready--
		}
	}
	return got
}

func short(m pgproto3.BackendMessage) string {
	switch m := m.(type) {
	case *pgproto3.ErrorResponse:
		return m.Severity + " " + m.Code
	case *pgproto3.CommandComplete:
		return string(m.CommandTag)
	case *pgproto3.ReadyForQuery:
		return "ready " + string(m.TxStatus)
	case *pgproto3.DataRow:
		return fmt.Sprintf("row %s", m.Values)
	case *pgproto3.RowDescription:
		var columns []string
		for _, f := range m.Fields {
			columns = append(columns, fmt.Sprintf("%s:%d:%d", f.Name, f.DataTypeOID, f.Format))
		}
		return "columns " + strings.Join(columns, " ")
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
}

func TestMessages(t *testing.T) {
	names := "select server_id from aurora_replica_status() order by server_id desc"
	sync := &pgproto3.Sync{}
	tests := map[string]struct {
		send []pgproto3.FrontendMessage
		want []string
	}{
		"rows in portions": {
			[]pgproto3.FrontendMessage{
				&pgproto3.Parse{Query: names}, &pgproto3.Bind{}, &pgproto3.Execute{MaxRows: 2}, &pgproto3.Execute{MaxRows: 2}, sync,
			},
			[]string{"ParseComplete", "BindComplete", "row [c]", "row [b]", "PortalSuspended", "row [a]", "SELECT 3", "ready I"},
		},
		"descriptions": {
			[]pgproto3.FrontendMessage{
				&pgproto3.Parse{Name: "s", Query: "select 1 as one, now()"}, &pgproto3.Describe{ObjectType: 'S', Name: "s"},
				&pgproto3.Bind{PreparedStatement: "s", DestinationPortal: "p", ResultFormatCodes: []int16{1}}, &pgproto3.Describe{ObjectType: 'P', Name: "p"},
				&pgproto3.Close{ObjectType: 'P', Name: "p"}, &pgproto3.Describe{ObjectType: 'P', Name: "p"}, sync,
			},
			[]string{
				"ParseComplete", "ParameterDescription", "columns one:23:0 now:1184:0", "BindComplete", "columns one:23:1 now:1184:1",
				"CloseComplete", "ERROR 34000", "ready I",
			},
		},
		"after an error all is skipped until sync": {
			[]pgproto3.FrontendMessage{
				&pgproto3.Bind{PreparedStatement: "nobody"}, &pgproto3.Execute{}, &pgproto3.Query{String: "select 1"}, sync, &pgproto3.Query{String: "select 2"},
			},
			[]string{"ERROR 26000", "ready I", "columns ?column?:23:0", "row [2]", "SELECT 1", "ready I"},
		},
		"a statement name is taken until it is closed": {
			[]pgproto3.FrontendMessage{
				&pgproto3.Parse{Name: "s", Query: "select 1"}, &pgproto3.Parse{Name: "s", Query: "select 1"}, sync,
				&pgproto3.Close{ObjectType: 'S', Name: "s"}, &pgproto3.Parse{Name: "s", Query: "begin"}, &pgproto3.Describe{ObjectType: 'S', Name: "s"}, sync,
			},
			[]string{"ParseComplete", "ERROR 42P05", "ready I", "CloseComplete", "ParseComplete", "ParameterDescription", "NoData", "ready I"},
		},
		"bad binds": {
			[]pgproto3.FrontendMessage{
				&pgproto3.Parse{Query: "select 1, 2, 3"}, &pgproto3.Bind{ResultFormatCodes: []int16{0, 1}}, sync,
				&pgproto3.Bind{Parameters: [][]byte{nil}}, sync, &pgproto3.Bind{ResultFormatCodes: []int16{7}}, sync,
			},
			[]string{"ParseComplete", "ERROR 08P01", "ready I", "ERROR 08P01", "ready I", "ERROR 22023", "ready I"},
		},
		"several statements in one query string end at the first error": {
			[]pgproto3.FrontendMessage{&pgproto3.Query{String: "begin; select 1; show nothing; select 2"}, &pgproto3.Query{String: "; -- nothing"}},
			[]string{"BEGIN", "columns ?column?:23:0", "row [1]", "SELECT 1", "ERROR 42704", "ready E", "EmptyQueryResponse", "ready E"},
		},
		"several statements cannot be prepared": {
			[]pgproto3.FrontendMessage{&pgproto3.Parse{Query: "select 1; select 2"}, sync},
			[]string{"ERROR 42601", "ready I"},
		},
		"an empty statement": {
			[]pgproto3.FrontendMessage{&pgproto3.Parse{}, &pgproto3.Bind{}, &pgproto3.Execute{}, sync},
			[]string{"ParseComplete", "BindComplete", "EmptyQueryResponse", "ready I"},
		},
		"what it does not know": {
			[]pgproto3.FrontendMessage{&pgproto3.FunctionCall{}, sync},
			[]string{"ERROR 0A000", "ready I"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ready := 0
			for _, w := range test.want {
				if strings.HasPrefix(w, "ready") {
					ready++
				}
			}
			got := exchange(t, start(t, aurorasim.Config{}), ready, test.send...)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
