package minisql

import (
	"cmp"
	"time"
)

// expr is a typed expression. eval's second argument is nil when there is no from clause.
type expr struct {
	name string // the column name it gives when it has no alias
	typ  Type
	eval func(*Env, *Row) (any, error)
}

const noName = "?column?"

func constant(v any, t Type) expr {
	return expr{noName, t, func(*Env, *Row) (any, error) { return v, nil }}
}

// coerce makes e give values of type t. It is only called where that is allowed.
func coerce(e expr, t Type) expr {
	if e.typ == t {
		return e
	}
	from, eval := e.typ, e.eval
	return expr{e.name, t, func(env *Env, r *Row) (any, error) {
		v, err := eval(env, r)
		if v == nil || err != nil {
			return nil, err
		}
		return convert(v, from, t)
	}}
}

// cast is the explicit cast ::typeName.
func cast(e expr, typeName string) (expr, error) {
	t, column, ok := typeNamed(typeName)
	if !ok {
		return expr{}, refuse("42704", "type %q does not exist", typeName)
	}
	if !castable(e.typ, t) {
		return expr{}, refuse("42846", "cannot cast type %s to %s", e.typ, t)
	}
	if e.name == noName {
		e.name = column
	}
	return coerce(e, t), nil
}

// signature is one function or operator: strict, so it is not called when an argument is NULL.
type signature struct {
	args []Type
	ret  Type
	call func(env *Env, args []any) (any, error)
}

// apply picks the signature that fits the arguments best (exactly, else by
// implicit conversion, in the order of the table). ok is false when none fits.
func apply(name string, table []signature, args []expr) (e expr, ok bool) {
	for _, fits := range []func(from, to Type) bool{func(from, to Type) bool { return from == to }, implicit} {
		for _, s := range table {
			if matches(s.args, args, fits) {
				return bind(name, s, args), true
			}
		}
	}
	return expr{}, false
}

func matches(want []Type, args []expr, fits func(from, to Type) bool) bool {
	if len(want) != len(args) {
		return false
	}
	for i, a := range args {
		if !fits(a.typ, want[i]) {
			return false
		}
	}
	return true
}

func bind(name string, s signature, args []expr) expr {
	bound := make([]expr, len(args))
	for i, a := range args {
		bound[i] = coerce(a, s.args[i])
	}
	return expr{name, s.ret, func(env *Env, r *Row) (any, error) {
		values := make([]any, len(bound))
		for i, b := range bound {
			v, err := b.eval(env, r)
			if v == nil || err != nil {
				return nil, err
			}
			values[i] = v
		}
		return s.call(env, values)
	}}
}

// not, and, or: three-valued logic over boolean expressions.

func not(e expr) expr {
	return expr{noName, Bool, func(env *Env, r *Row) (any, error) {
		v, err := e.eval(env, r)
		if v == nil || err != nil {
			return nil, err
		}
		return v != true, nil
	}}
}

// either is or (decides true) and and (decides false): the deciding value wins over NULL.
func either(decides bool, a, b expr) expr {
	return expr{noName, Bool, func(env *Env, r *Row) (any, error) {
		x, err := a.eval(env, r)
		if err != nil || x == decides {
			return x, err
		}
		y, err := b.eval(env, r)
		if err != nil || y == decides {
			return y, err
		}
		if x == nil || y == nil {
			return nil, nil
		}
		return !decides, nil
	}}
}

// isNull is "is null", "is not null"; want is the answer for NULL.
func isNull(e expr, want bool) expr {
	return expr{noName, Bool, func(env *Env, r *Row) (any, error) {
		v, err := e.eval(env, r)
		return (v == nil) == want, err
	}}
}

// isBool is "is true", "is not false" and so on.
func isBool(e expr, value, want bool) expr {
	return expr{noName, Bool, func(env *Env, r *Row) (any, error) {
		v, err := e.eval(env, r)
		return (v == value) == want, err
	}}
}

// coalesce gives the first argument that is not NULL.
func coalesce(args []expr) (expr, error) {
	t, err := common(args)
	if err != nil {
		return expr{}, err
	}
	for i := range args {
		args[i] = coerce(args[i], t)
	}
	return expr{"coalesce", t, func(env *Env, r *Row) (any, error) {
		for _, a := range args {
			if v, err := a.eval(env, r); v != nil || err != nil {
				return v, err
			}
		}
		return nil, nil
	}}, nil
}

// common finds the type that all arguments can be converted to.
func common(args []expr) (Type, error) {
	t := unknown
	for _, a := range args {
		switch {
		case implicit(a.typ, t) && t != unknown:
		case implicit(t, a.typ):
			t = a.typ
		default:
			return 0, refuse("42804", "COALESCE types %s and %s cannot be matched", t, a.typ)
		}
	}
	if t == unknown {
		t = Text
	}
	return t, nil
}

func compareValues(a, b any) int {
	switch a := a.(type) {
	case bool:
		return truth(a) - truth(b.(bool))
	case int64:
		return cmp.Compare(a, b.(int64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case string:
		return cmp.Compare(a, b.(string))
	case time.Time:
		return a.Compare(b.(time.Time))
	case time.Duration:
		return cmp.Compare(a, b.(time.Duration))
	}
	return 0
}
