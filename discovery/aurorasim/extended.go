package aurorasim

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/poolwright/poolwright/discovery/aurorasim/internal/minisql"
)

// prepared is a prepared statement. None takes parameters.
type prepared struct{ statement minisql.Statement }

// portal is a bound statement, and what is left of its rows once it has run.
type portal struct {
	statement minisql.Statement
	formats   []int16
	ran       bool
	rows      [][]any
	tag       string
}

// extended handles the messages of the extended protocol besides Sync and Flush.
// After an error all are skipped until Sync.
func (s *session) extended(m pgproto3.FrontendMessage) {
	if err := s.extendedMessage(m); err != nil {
		s.fail(err)
		s.skipping = true
	}
}

func (s *session) extendedMessage(m pgproto3.FrontendMessage) error {
	switch m := m.(type) {
	case *pgproto3.Parse:
		return s.parse(m)
	case *pgproto3.Bind:
		return s.bind(m)
	case *pgproto3.Describe:
		return s.describe(m)
	case *pgproto3.Execute:
		return s.execute(m)
	case *pgproto3.Close:
		if m.ObjectType == 'S' {
			delete(s.statements, m.Name)
		} else {
			delete(s.portals, m.Name)
		}
		s.be.Send(&pgproto3.CloseComplete{})
		return nil
	}
	return newError("0A000", "message %T is not known to this simulator", m)
}

func (s *session) parse(m *pgproto3.Parse) error {
	statements, err := minisql.Parse(m.Query)
	if err != nil {
		return err
	}
	if len(statements) > 1 {
		return newError("42601", "cannot insert multiple commands into a prepared statement")
	}
	if _, taken := s.statements[m.Name]; taken && m.Name != "" {
		return newError("42P05", "prepared statement %q already exists", m.Name)
	}
	s.statements[m.Name] = &prepared{statements[0]}
	s.be.Send(&pgproto3.ParseComplete{})
	return nil
}

func (s *session) bind(m *pgproto3.Bind) error {
	p, ok := s.statements[m.PreparedStatement]
	if !ok {
		return newError("26000", "prepared statement %q does not exist", m.PreparedStatement)
	}
	if len(m.Parameters) > 0 {
		return newError("08P01", "bind message supplies %d parameters, but prepared statement %q requires 0", len(m.Parameters), m.PreparedStatement)
	}
	columns := len(p.statement.Columns)
	if n := len(m.ResultFormatCodes); n > 1 && n != columns {
		return newError("08P01", "bind message has %d result formats but query has %d columns", n, columns)
	}
	for _, f := range m.ResultFormatCodes {
		if f != 0 && f != 1 {
			return newError("22023", "invalid format code: %d", f)
		}
	}
	s.portals[m.DestinationPortal] = &portal{statement: p.statement, formats: append([]int16(nil), m.ResultFormatCodes...)}
	s.be.Send(&pgproto3.BindComplete{})
	return nil
}

func (s *session) describe(m *pgproto3.Describe) error {
	var st minisql.Statement
	var formats []int16
	if m.ObjectType == 'S' {
		p, ok := s.statements[m.Name]
		if !ok {
			return newError("26000", "prepared statement %q does not exist", m.Name)
		}
		st = p.statement
		s.be.Send(&pgproto3.ParameterDescription{})
	} else {
		p, ok := s.portals[m.Name]
		if !ok {
			return newError("34000", "portal %q does not exist", m.Name)
		}
		st, formats = p.statement, p.formats
	}
	if st.Kind == minisql.Query {
		s.be.Send(describe(st.Columns, formats))
	} else {
		s.be.Send(&pgproto3.NoData{})
	}
	return nil
}

func (s *session) execute(m *pgproto3.Execute) error {
	p, ok := s.portals[m.Portal]
	if !ok {
		return newError("34000", "portal %q does not exist", m.Portal)
	}
	if p.statement.Kind == minisql.Empty {
		s.be.Send(&pgproto3.EmptyQueryResponse{})
		return nil
	}
	if !p.ran {
		if late := s.delay(s.statementTimeout()); late != nil {
			return late
		}
		rows, tag, err := s.perform(p.statement)
		if err != nil {
			return err
		}
		p.ran, p.rows, p.tag = true, rows, tag
	}
	return s.portion(p, m.MaxRows)
}

// portion sends up to limit rows of a portal, 0 for all that are left.
func (s *session) portion(p *portal, limit uint32) error {
	rows := p.rows
	if limit > 0 && uint64(limit) < uint64(len(rows)) {
		rows = rows[:limit]
	}
	if err := s.sendRows(p.statement.Columns, rows, p.formats); err != nil {
		return err
	}
	p.rows = p.rows[len(rows):]
	if len(p.rows) > 0 {
		s.be.Send(&pgproto3.PortalSuspended{})
		return nil
	}
	s.be.Send(&pgproto3.CommandComplete{CommandTag: []byte(p.tag)})
	return nil
}
