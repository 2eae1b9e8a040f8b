package minisql

import (
	"slices"
	"strings"
)

// deepest bounds the nesting of expressions, so that hostile text cannot exhaust the stack.
const deepest = 100

// expression parses, loosest first: or; and; not; is; comparison; + -; * /; unary -; ::.
func (p *parser) expression() (expr, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > deepest {
		return expr{}, refuse("54001", "stack depth limit exceeded")
	}
	return p.logical("or", true, func() (expr, error) { return p.logical("and", false, p.negation) })
}

func (p *parser) logical(word string, decides bool, operand func() (expr, error)) (expr, error) {
	a, err := operand()
	for err == nil && p.accept(word) {
		var b expr
		if b, err = operand(); err != nil {
			break
		}
		if a, err = boolean(a, "argument of "+word); err != nil {
			break
		}
		if b, err = boolean(b, "argument of "+word); err != nil {
			break
		}
		a = either(decides, a, b)
	}
	return a, err
}

func boolean(e expr, what string) (expr, error) {
	if !implicit(e.typ, Bool) {
		return expr{}, refuse("42804", "%s must be type boolean, not type %s", strings.ToUpper(what), e.typ)
	}
	return coerce(e, Bool), nil
}

func (p *parser) negation() (expr, error) {
	negate := false
	for p.accept("not") {
		negate = !negate
	}
	e, err := p.test()
	if err != nil || !negate {
		return e, err
	}
	e, err = boolean(e, "argument of not")
	return not(e), err
}

// test parses what follows "is".
func (p *parser) test() (expr, error) {
	e, err := p.binary(0)
	for err == nil && p.accept("is") {
		want := !p.accept("not")
		switch {
		case p.accept("null"):
			e = isNull(e, want)
		case p.accept("true"), p.accept("false"):
			value := p.tokens[p.at-1].text == "true"
			if e, err = boolean(e, "argument of is"); err == nil {
				e = isBool(e, value, want)
			}
		default:
			err = p.unexpected()
		}
	}
	return e, err
}

// levels are the binary operators, loosest first.
func levels() [][]string {
	return [][]string{{"=", "<>", "!=", "<", ">", "<=", ">="}, {"+", "-"}, {"*", "/"}}
}

func (p *parser) binary(level int) (expr, error) {
	all := levels()
	if level == len(all) {
		return p.unary()
	}
	a, err := p.binary(level + 1)
	for err == nil {
		op := p.peek()
		if op.kind != symbol || !slices.Contains(all[level], op.text) {
			return a, nil
		}
		p.take()
		var b expr
		if b, err = p.binary(level + 1); err == nil {
			a, err = operate(op.text, a, b)
		}
		if level == 0 {
			return a, err // comparisons do not associate: a < b < c is no expression
		}
	}
	return a, err
}

func operate(op string, a, b expr) (expr, error) {
	e, ok := apply(noName, operators(op), []expr{a, b})
	if !ok {
		return expr{}, refuse("42883", "operator does not exist: %s %s %s", a.typ, op, b.typ)
	}
	return e, nil
}

func (p *parser) unary() (expr, error) {
	minus := false
	for p.is("-") || p.is("+") {
		minus = minus != (p.take().text == "-")
	}
	e, err := p.castSuffix()
	if err != nil || !minus {
		return e, err
	}
	return operate("-", constant(int64(0), Int4), e)
}

func (p *parser) castSuffix() (expr, error) {
	e, err := p.primary()
	for err == nil && p.accept("::") {
		e, err = p.castTo(e)
	}
	return e, err
}

func (p *parser) castTo(e expr) (expr, error) {
	switch {
	case p.accept("double", "precision"):
		return cast(e, "float8")
	case p.accept("timestamp", "with", "time", "zone"):
		return cast(e, "timestamptz")
	case p.peek().kind == word:
		return cast(e, p.take().text)
	}
	return expr{}, p.unexpected()
}

func (p *parser) primary() (expr, error) {
	t := p.take()
	switch t.kind {
	case number:
		return literal(t.text)
	case text:
		return constant(t.text, unknown), nil
	case quoted:
		return p.reference(t)
	case word:
		return p.named(t)
	case symbol:
		if t.text == "(" {
			e, err := p.expression()
			if err != nil {
				return expr{}, err
			}
			return e, p.expect(")")
		}
	}
	if t.kind != end {
		p.at--
	}
	return expr{}, p.unexpected()
}

// named parses what begins with an unquoted word.
func (p *parser) named(t token) (expr, error) {
	switch t.text {
	case "true", "false":
		e := constant(t.text == "true", Bool)
		e.name = "bool"
		return e, nil
	case "null":
		return constant(nil, unknown), nil
	case "interval":
		return p.intervalLiteral()
	case "current_timestamp", "current_user", "session_user":
		return p.call(t.text, nil)
	case "extract":
		return p.extract()
	case "cast":
		return p.castCall()
	case "select", "from", "where", "and", "or", "is", "as", "order", "limit":
		p.at--
		return expr{}, p.unexpected()
	}
	if t.text == "pg_catalog" && p.accept(".") {
		t = p.take()
	}
	if p.accept("(") {
		args, err := p.arguments()
		if err != nil {
			return expr{}, err
		}
		return p.call(t.text, args)
	}
	return p.reference(t)
}

func (p *parser) intervalLiteral() (expr, error) {
	t := p.take()
	if t.kind != text {
		p.at--
		return expr{}, p.unexpected()
	}
	v, ok := interval(t.text)
	if !ok {
		return expr{}, refuse("22007", "invalid input syntax for type interval: %q", t.text)
	}
	e := constant(v, Interval)
	e.name = "interval"
	return e, nil
}

// extract parses "(epoch from x)".
func (p *parser) extract() (expr, error) {
	if err := p.expect("("); err != nil {
		return expr{}, err
	}
	field := p.take()
	if field.text != "epoch" {
		return expr{}, refuse("0A000", "unit %q is not known to this simulator, only epoch", field.text)
	}
	if err := p.expect("from"); err != nil {
		return expr{}, err
	}
	e, err := p.expression()
	if err != nil {
		return expr{}, err
	}
	call := func(_ *Env, a []any) (any, error) { return epoch(a[0]), nil }
	table := []signature{{[]Type{TimestampTZ}, Numeric, call}, {[]Type{Interval}, Numeric, call}}
	out, ok := apply("extract", table, []expr{e})
	if !ok {
		return expr{}, refuse("42883", "function pg_catalog.extract(unknown, %s) does not exist", e.typ)
	}
	return out, p.expect(")")
}

// castCall parses "(x as type)".
func (p *parser) castCall() (expr, error) {
	if err := p.expect("("); err != nil {
		return expr{}, err
	}
	e, err := p.expression()
	if err != nil {
		return expr{}, err
	}
	if err := p.expect("as"); err != nil {
		return expr{}, err
	}
	if e, err = p.castTo(e); err != nil {
		return expr{}, err
	}
	return e, p.expect(")")
}

// arguments parses up to the closing parenthesis.
func (p *parser) arguments() ([]expr, error) {
	var args []expr
	if p.accept(")") {
		return nil, nil
	}
	for {
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		args = append(args, e)
		if p.accept(")") {
			return args, nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}

func (p *parser) call(name string, args []expr) (expr, error) {
	if name == "coalesce" && len(args) > 0 {
		return coalesce(args)
	}
	e, ok := apply(name, functions(name), args)
	if !ok {
		types := make([]string, len(args))
		for i, a := range args {
			types[i] = a.typ.String()
		}
		return expr{}, refuse("42883", "function %s(%s) does not exist", name, strings.Join(types, ", "))
	}
	return e, nil
}

// reference parses a column name, with or without its table.
func (p *parser) reference(t token) (expr, error) {
	column := t.text
	if p.accept(".") {
		if !p.from.status || t.text != p.from.alias {
			return expr{}, refuse("42P01", "missing FROM-clause entry for table %q", t.text)
		}
		column = p.take().text
	}
	if p.from.status {
		for _, c := range statusColumns() {
			if c.name == column {
				return columnExpr(c), nil
			}
		}
	}
	return expr{}, refuse("42703", "column %q does not exist", column)
}
