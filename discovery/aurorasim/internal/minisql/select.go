package minisql

import (
	"slices"
	"strconv"
)

// scope is what column references may mean.
type scope struct {
	status bool   // aurora_replica_status() is in the from clause
	alias  string // its name there
}

// query is a parsed select.
type query struct {
	items  []expr
	from   scope
	where  *expr
	order  []ordering
	capped bool // there is a limit
	limit  int
}

type ordering struct {
	by         expr
	descending bool
	nullsFirst bool
}

func (q query) columns() []Column {
	columns := make([]Column, len(q.items))
	for i, e := range q.items {
		columns[i] = Column{Name: e.name, Type: e.typ}
	}
	return columns
}

// Rows runs a query against env.
func (s Statement) Rows(env *Env) ([][]any, error) { return s.query.run(env) }

func (q query) run(env *Env) ([][]any, error) {
	rows, err := filter(env, q.source(env), q.where)
	if err != nil {
		return nil, err
	}
	if err := q.sort(env, rows); err != nil {
		return nil, err
	}
	if q.capped && len(rows) > q.limit {
		rows = rows[:q.limit]
	}
	out := make([][]any, 0, len(rows))
	for _, r := range rows {
		values, err := evaluate(env, r, q.items)
		if err != nil {
			return nil, err
		}
		out = append(out, values)
	}
	return out, nil
}

// source gives the rows of the from clause; nil stands for the one row of no from clause.
func (q query) source(env *Env) []*Row {
	if !q.from.status {
		return []*Row{nil}
	}
	rows := make([]*Row, len(env.Status))
	for i := range env.Status {
		rows[i] = &env.Status[i]
	}
	return rows
}

func filter(env *Env, rows []*Row, keep *expr) ([]*Row, error) {
	if keep == nil {
		return rows, nil
	}
	var kept []*Row
	for _, r := range rows {
		v, err := keep.eval(env, r)
		if err != nil {
			return nil, err
		}
		if v == true {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

func evaluate(env *Env, r *Row, items []expr) ([]any, error) {
	values := make([]any, len(items))
	for i, e := range items {
		v, err := e.eval(env, r)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

func (q query) sort(env *Env, rows []*Row) (err error) {
	slices.SortStableFunc(rows, func(a, b *Row) int {
		for _, o := range q.order {
			x, e1 := o.by.eval(env, a)
			y, e2 := o.by.eval(env, b)
			if e1 != nil || e2 != nil {
				err = firstError(err, e1, e2)
				return 0
			}
			if c := o.compare(x, y); c != 0 {
				return c
			}
		}
		return 0
	})
	return err
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (o ordering) compare(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil || b == nil:
		if (a == nil) == o.nullsFirst {
			return -1
		}
		return 1
	case o.descending:
		return compareValues(b, a)
	}
	return compareValues(a, b)
}

// selectStatement parses the from clause before the select list, because the list refers to it.
func (p *parser) selectStatement() (Statement, error) {
	p.take()
	list := p.at
	p.skipToFrom()
	var q query
	if err := p.fromClause(&q); err != nil {
		return Statement{}, err
	}
	p.from = q.from
	after := p.at
	p.at = list
	var err error
	if q.items, err = p.selectList(); err != nil {
		return Statement{}, err
	}
	if q.from.status {
		if err := p.expect("from"); err != nil {
			return Statement{}, err
		}
		p.at = after
	}
	if err := p.tail(&q); err != nil {
		return Statement{}, err
	}
	return Statement{Kind: Query, Tag: "SELECT", Columns: q.columns(), query: q}, nil
}

// skipToFrom moves to the from of this select, or to the end of the statement.
func (p *parser) skipToFrom() {
	depth := 0
	for {
		t := p.peek()
		switch {
		case t.kind == end, t.kind == symbol && t.text == ";":
			return
		case p.is("("):
			depth++
		case p.is(")"):
			depth--
		case depth == 0 && p.is("from"):
			return
		}
		p.take()
	}
}

func (p *parser) fromClause(q *query) error {
	if !p.accept("from") {
		return nil
	}
	return p.statusFunction(q)
}

func (p *parser) statusFunction(q *query) error {
	p.accept("pg_catalog", ".")
	name := p.take()
	if name.kind != word && name.kind != quoted {
		p.at--
		return p.unexpected()
	}
	if !p.accept("(") {
		return refuse("42P01", "relation %q does not exist", name.text)
	}
	if name.text != "aurora_replica_status" || !p.accept(")") {
		return refuse("42883", "function %s(...) does not exist", name.text)
	}
	q.from = scope{status: true, alias: name.text}
	if a := p.alias("where", "order", "limit"); a != "" {
		q.from.alias = a
	}
	return nil
}

// alias reads "[as] name"; the words given may not be a name without as.
func (p *parser) alias(reserved ...string) string {
	as := p.accept("as")
	t := p.peek()
	if t.kind == quoted || t.kind == word && (as || !slices.Contains(reserved, t.text)) {
		p.take()
		return t.text
	}
	if as {
		p.at--
	}
	return ""
}

func (p *parser) condition(keyword string) (*expr, error) {
	if err := p.expect(keyword); err != nil {
		return nil, err
	}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	e, err = boolean(e, "argument of "+keyword)
	return &e, err
}

func (p *parser) tail(q *query) error {
	if p.is("where") {
		where, err := p.condition("where")
		if err != nil {
			return err
		}
		q.where = where
	}
	if p.accept("order", "by") {
		if err := p.orderings(q); err != nil {
			return err
		}
	}
	if p.accept("limit") {
		t := p.take()
		n, err := strconv.Atoi(t.text)
		if t.kind != number || err != nil {
			p.at--
			return p.unexpected()
		}
		q.limit, q.capped = n, true
	}
	return nil
}

func (p *parser) orderings(q *query) error {
	for {
		e, err := p.expression()
		if err != nil {
			return err
		}
		o := ordering{by: e}
		if p.accept("desc") {
			o.descending, o.nullsFirst = true, true
		} else {
			p.accept("asc")
		}
		if p.accept("nulls", "first") {
			o.nullsFirst = true
		} else if p.accept("nulls", "last") {
			o.nullsFirst = false
		}
		q.order = append(q.order, o)
		if !p.accept(",") {
			return nil
		}
	}
}

func (p *parser) selectList() ([]expr, error) {
	var items []expr
	for {
		if p.accept("*") {
			if !p.from.status {
				return nil, refuse("42601", "SELECT * with no tables specified is not valid")
			}
			for _, c := range statusColumns() {
				items = append(items, columnExpr(c))
			}
		} else {
			e, err := p.item()
			if err != nil {
				return nil, err
			}
			items = append(items, e)
		}
		if !p.accept(",") {
			return items, nil
		}
	}
}

// item is an expression with or without a name.
func (p *parser) item() (expr, error) {
	e, err := p.expression()
	if err != nil {
		return expr{}, err
	}
	if a := p.alias("from", "where", "order", "limit"); a != "" {
		e.name = a
	}
	if e.typ == unknown {
		e = coerce(e, Text)
	}
	return e, nil
}

func columnExpr(c statusColumn) expr {
	return expr{c.name, c.typ, func(_ *Env, r *Row) (any, error) {
		return c.get(r), nil
	}}
}
