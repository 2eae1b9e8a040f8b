package minisql

import "strings"

// Parse understands sql, which may hold several statements separated by
// semicolons. Text without any statement gives one of kind Empty.
func Parse(sql string) ([]Statement, error) {
	tokens, err := lex(sql)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	var all []Statement
	for {
		for p.accept(";") {
		}
		if p.peek().kind == end {
			break
		}
		s, err := p.statement()
		if err != nil {
			return nil, err
		}
		if p.peek().kind != end && p.peek().text != ";" {
			return nil, p.unexpected()
		}
		all = append(all, s)
	}
	if all == nil {
		return []Statement{{Kind: Empty}}, nil
	}
	return all, nil
}

type parser struct {
	tokens []token
	at     int
	depth  int
	// from is what columns may refer to while an expression is parsed.
	from scope
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

// is reports whether the next tokens are these keywords or symbols.
func (p *parser) is(texts ...string) bool {
	for i, want := range texts {
		if p.at+i >= len(p.tokens) {
			return false
		}
		t := p.tokens[p.at+i]
		if t.text != want || t.kind != word && t.kind != symbol {
			return false
		}
	}
	return true
}

func (p *parser) accept(texts ...string) bool {
	if !p.is(texts...) {
		return false
	}
	p.at += len(texts)
	return true
}

func (p *parser) expect(texts ...string) error {
	for _, t := range texts {
		if !p.accept(t) {
			return p.unexpected()
		}
	}
	return nil
}

func (p *parser) unexpected() error {
	t := p.peek()
	if t.kind == parameter {
		return refuse("42P02", "there is no parameter %s", t.text)
	}
	return syntax(t.text)
}

func (p *parser) statement() (Statement, error) {
	first := p.peek()
	if first.kind != word {
		return Statement{}, p.unexpected()
	}
	switch first.text {
	case "select":
		return p.selectStatement()
	case "show":
		return p.show()
	case "set":
		return p.set()
	case "begin", "start", "commit", "end", "rollback", "abort":
		return p.transaction()
	case "deallocate", "discard":
		p.take()
		return Statement{Kind: Forget, Tag: strings.ToUpper(first.text) + " ALL"}, p.expect("all")
	case "insert", "update", "delete", "create", "alter", "drop", "truncate":
		return p.write()
	}
	return Statement{}, p.unexpected()
}

// write understands the verb only, and for schema changes the kind of thing.
func (p *parser) write() (Statement, error) {
	verb := strings.ToUpper(p.take().text)
	s := Statement{Kind: Write, Verb: verb, Tag: verb + " 1"}
	next := p.peek()
	if next.kind != word {
		return Statement{}, p.unexpected()
	}
	switch verb {
	case "INSERT":
		s.Tag = "INSERT 0 1"
	case "TRUNCATE":
		s.Verb, s.Tag = "TRUNCATE TABLE", "TRUNCATE TABLE"
	case "CREATE", "ALTER", "DROP":
		s.Verb = verb + " " + strings.ToUpper(next.text)
		s.Tag = s.Verb
	}
	for p.peek().kind != end && !p.is(";") {
		p.take()
	}
	return s, nil
}

func (p *parser) transaction() (Statement, error) {
	verb := p.take().text
	if verb == "start" {
		if err := p.expect("transaction"); err != nil {
			return Statement{}, err
		}
	} else if !p.accept("transaction") {
		p.accept("work")
	}
	switch verb {
	case "begin":
		return p.modes(Statement{Kind: Begin, Tag: "BEGIN"})
	case "start":
		return p.modes(Statement{Kind: Begin, Tag: "START TRANSACTION"})
	case "commit", "end":
		return Statement{Kind: Commit, Tag: "COMMIT"}, nil
	}
	return Statement{Kind: Rollback, Tag: "ROLLBACK"}, nil
}

// modes reads the transaction modes after begin.
func (p *parser) modes(s Statement) (Statement, error) {
	for {
		switch {
		case p.accept("read", "only"), p.accept("read", "write"):
			only := p.tokens[p.at-1].text == "only"
			s.ReadOnly = &only
		case p.accept("isolation", "level", "read", "committed"), p.accept("isolation", "level", "repeatable", "read"),
			p.accept("isolation", "level", "serializable"), p.accept("not", "deferrable"), p.accept("deferrable"):
		default:
			return s, nil
		}
		p.accept(",")
	}
}

// set reads "set [session] name {=|to} value".
func (p *parser) set() (Statement, error) {
	p.take()
	p.accept("session")
	name, err := p.settingName()
	if err != nil {
		return Statement{}, err
	}
	if !p.accept("=") && !p.accept("to") {
		return Statement{}, p.unexpected()
	}
	v := p.take()
	sign := ""
	if v.text == "-" && v.kind == symbol {
		sign, v = "-", p.take()
	}
	if v.kind != word && v.kind != text && v.kind != number && v.kind != quoted {
		p.at--
		return Statement{}, p.unexpected()
	}
	return Statement{Kind: Set, Tag: "SET", Name: name, Value: sign + v.text, Default: v.kind == word && v.text == "default"}, nil
}

func (p *parser) settingName() (string, error) {
	t := p.take()
	if t.kind != word && t.kind != quoted {
		p.at--
		return "", p.unexpected()
	}
	if p.accept(".") {
		u := p.take()
		return t.text + "." + u.text, nil
	}
	return t.text, nil
}

// show is a query of one setting.
func (p *parser) show() (Statement, error) {
	p.take()
	name, err := p.settingName()
	if err != nil {
		return Statement{}, err
	}
	setting, _ := apply(name, settings(), []expr{constant(name, Text)})
	q := query{items: []expr{setting}}
	return Statement{Kind: Query, Tag: "SHOW", Columns: q.columns(), query: q}, nil
}
