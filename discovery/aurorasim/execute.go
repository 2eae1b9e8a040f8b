package aurorasim

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/poolwright/poolwright/discovery/aurorasim/internal/minisql"
)

// transaction is the state of the session's transaction block.
type transaction struct {
	open, failed bool
	began        time.Time
	readOnly     *bool
}

func (t transaction) status() byte {
	switch {
	case t.failed:
		return 'E'
	case t.open:
		return 'T'
	}
	return 'I'
}

// step handles one message.
func (s *session) step() error {
	m, err := s.be.Receive()
	if err != nil {
		return s.refuseMessage(err)
	}
	switch m := m.(type) {
	case *pgproto3.Terminate:
		return errGone
	case *pgproto3.Sync:
		return s.sync()
	case *pgproto3.Query:
		if !s.skipping {
			return s.simple(m.String)
		}
	case *pgproto3.Flush:
		return s.flush()
	default:
		if !s.skipping {
			s.extended(m)
		}
	}
	return nil
}

// sync ends a batch of the extended protocol.
func (s *session) sync() error {
	s.skipping = false
	if !s.tx.open {
		clear(s.portals)
	}
	s.ready()
	return s.flush()
}

// refuseMessage tells the client that its bytes are no message, unless it is gone.
func (s *session) refuseMessage(err error) error {
	if s.ctx.Err() != nil {
		return err
	}
	return s.fatal("08P01", "invalid frontend message")
}

// fail tells of an error in a statement and fails the transaction block around it.
func (s *session) fail(err error) {
	if s.tx.open {
		s.tx.failed = true
	}
	var told *pgError
	var refused *minisql.Error
	switch {
	case errors.As(err, &told):
		s.tell(*told)
	case errors.As(err, &refused):
		s.tell(pgError{"ERROR", refused.Code, refused.Message})
	default:
		s.tell(pgError{"ERROR", "XX000", err.Error()})
	}
}

// Error implements error.
func (e *pgError) Error() string { return e.message }

func newError(code, format string, args ...any) error {
	return &pgError{"ERROR", code, fmt.Sprintf(format, args...)}
}

// simple runs a query string: all statements until the first error.
func (s *session) simple(sql string) error {
	if err := s.statementsOf(sql); err != nil {
		s.fail(err)
	}
	s.ready()
	return s.flush()
}

func (s *session) statementsOf(sql string) error {
	statements, err := minisql.Parse(sql)
	if err != nil {
		return err
	}
	if late := s.delay(s.statementTimeout()); late != nil {
		return late
	}
	for _, st := range statements {
		if st.Kind == minisql.Empty {
			s.be.Send(&pgproto3.EmptyQueryResponse{})
			continue
		}
		rows, tag, err := s.perform(st)
		if err != nil {
			return err
		}
		if st.Kind == minisql.Query {
			s.be.Send(describe(st.Columns, nil))
		}
		if err := s.sendRows(st.Columns, rows, nil); err != nil {
			return err
		}
		s.be.Send(&pgproto3.CommandComplete{CommandTag: []byte(tag)})
	}
	return nil
}

// perform runs one statement and gives its rows and command tag.
func (s *session) perform(st minisql.Statement) (rows [][]any, tag string, err error) {
	if s.tx.failed && st.Kind != minisql.Commit && st.Kind != minisql.Rollback {
		return nil, "", newError("25P02", "current transaction is aborted, commands ignored until end of transaction block")
	}
	env := s.env()
	switch st.Kind {
	case minisql.Query:
		if rows, err = st.Rows(env); err == nil && st.Tag == "SELECT" {
			return rows, fmt.Sprintf("SELECT %d", len(rows)), nil
		}
	case minisql.Set:
		err = s.set(st.Name, st.Value, st.Default)
	case minisql.Write:
		if env.ReadOnly {
			err = newError("25006", "cannot execute %s in a read-only transaction", st.Verb)
		}
	default:
		return nil, s.transact(st, env), nil
	}
	return rows, st.Tag, err
}

// transact begins and ends transaction blocks, and gives the tag.
func (s *session) transact(st minisql.Statement, env *minisql.Env) string {
	switch st.Kind {
	case minisql.Begin:
		if !s.tx.open {
			s.tx = transaction{open: true, began: env.Clock, readOnly: st.ReadOnly}
		}
	case minisql.Commit, minisql.Rollback:
		failed := s.tx.failed
		s.tx = transaction{}
		if failed {
			return "ROLLBACK"
		}
	case minisql.Forget:
		clear(s.statements)
	}
	return st.Tag
}

// describe is the row description in the formats asked for.
func describe(columns []minisql.Column, formats []int16) *pgproto3.RowDescription {
	d := &pgproto3.RowDescription{}
	for i, c := range columns {
		d.Fields = append(d.Fields, pgproto3.FieldDescription{
			Name: []byte(c.Name), DataTypeOID: uint32(c.Type), DataTypeSize: size(c.Type), TypeModifier: -1, Format: format(formats, i),
		})
	}
	return d
}

func size(t minisql.Type) int16 {
	switch t {
	case minisql.Bool:
		return 1
	case minisql.Int4:
		return 4
	case minisql.Int8, minisql.Float8, minisql.TimestampTZ:
		return 8
	case minisql.Interval:
		return 16
	case minisql.Name:
		return 64
	}
	return -1
}

// format is that of column i: none given is text, one is for all.
func format(formats []int16, i int) int16 {
	switch {
	case len(formats) == 1:
		return formats[0]
	case i < len(formats):
		return formats[i]
	}
	return pgtype.TextFormatCode
}

// sendRows sends all rows, or none and an error.
func (s *session) sendRows(columns []minisql.Column, rows [][]any, formats []int16) error {
	types := pgtype.NewMap()
	for _, row := range rows {
		values := make([][]byte, len(row))
		for i, v := range row {
			b, err := encode(types, columns[i].Type, format(formats, i), v)
			if err != nil {
				return err
			}
			values[i] = b
		}
		s.be.Send(&pgproto3.DataRow{Values: values})
	}
	return nil
}

// encode gives nil for NULL and never for anything else.
func encode(types *pgtype.Map, t minisql.Type, format int16, v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	if t == minisql.TimestampTZ && format == pgtype.TextFormatCode {
		return []byte(minisql.Print(v)), nil
	}
	b, err := types.Encode(uint32(t), format, minisql.Wire(t, v), []byte{})
	if err != nil {
		return nil, fmt.Errorf("encoding a value of type %s: %w", t, err)
	}
	return b, nil
}
