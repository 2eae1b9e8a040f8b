package minisql

import (
	"math"
	"strconv"
	"time"
)

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// functions is the closed table of functions; coalesce, extract and cast have their own grammar.
func functions(name string) []signature {
	none := func(t Type, get func(*Env) any) []signature {
		return []signature{{nil, t, func(env *Env, _ []any) (any, error) { return get(env), nil }}}
	}
	switch name {
	case "aurora_db_instance_identifier":
		return none(Text, func(e *Env) any { return e.Instance })
	case "aurora_version":
		return none(Text, func(e *Env) any { return e.Version })
	case "version":
		return none(Text, func(e *Env) any { return "PostgreSQL " + e.Version + " (a simulated Aurora instance)" })
	case "current_database":
		return none(Name, func(e *Env) any { return e.Database })
	case "current_user", "session_user":
		return none(Name, func(e *Env) any { return e.User })
	case "pg_backend_pid":
		return none(Int4, func(e *Env) any { return e.PID })
	case "pg_is_in_recovery":
		return none(Bool, func(e *Env) any { return e.InRecovery })
	case "clock_timestamp":
		return none(TimestampTZ, func(e *Env) any { return e.Clock })
	case "now", "transaction_timestamp", "statement_timestamp", "current_timestamp":
		return none(TimestampTZ, func(e *Env) any { return e.Transaction })
	case "pg_postmaster_start_time":
		return none(TimestampTZ, func(e *Env) any { return e.Started })
	case "current_setting":
		return settings()
	case "round", "floor", "ceil", "abs":
		return rounding(name)
	case "date_part":
		return []signature{{[]Type{Text, TimestampTZ}, Float8, datePart}, {[]Type{Text, Interval}, Float8, datePart}}
	}
	return nil
}

func settings() []signature {
	return []signature{
		{[]Type{Text}, Text, func(e *Env, a []any) (any, error) {
			v, ok := e.Setting(a[0].(string))
			if !ok {
				return nil, refuse("42704", "unrecognized configuration parameter %q", a[0])
			}
			return v, nil
		}},
		{[]Type{Text, Bool}, Text, func(e *Env, a []any) (any, error) {
			v, ok := e.Setting(a[0].(string))
			switch {
			case ok:
				return v, nil
			case a[1].(bool):
				return nil, nil
			}
			return nil, refuse("42704", "unrecognized configuration parameter %q", a[0])
		}},
	}
}

func rounding(name string) []signature {
	numeric := map[string]func(float64) float64{"round": math.Round, "floor": math.Floor, "ceil": math.Ceil, "abs": math.Abs}[name]
	float := numeric
	if name == "round" {
		float = math.RoundToEven
	}
	call := func(f func(float64) float64) func(*Env, []any) (any, error) {
		return func(_ *Env, a []any) (any, error) { return f(a[0].(float64)), nil }
	}
	return []signature{{[]Type{Float8}, Float8, call(float)}, {[]Type{Numeric}, Numeric, call(numeric)}}
}

func datePart(_ *Env, a []any) (any, error) {
	if a[0] != "epoch" {
		return nil, refuse("0A000", "unit %q is not known to this simulator, only epoch", a[0])
	}
	return epoch(a[1]), nil
}

func epoch(v any) float64 {
	if d, ok := v.(time.Duration); ok {
		return float64(d.Microseconds()) / 1e6
	}
	return float64(v.(time.Time).UnixMicro()) / 1e6
}

// operators is the closed table of binary operators besides and, or.
func operators(op string) []signature {
	switch op {
	case "=", "<>", "!=", "<", ">", "<=", ">=":
		return comparisons(op)
	case "+", "-", "*", "/":
		return append(arithmetic(op), spans(op)...)
	}
	return nil
}

func comparisons(op string) []signature {
	holds := map[string]func(int) bool{
		"=": func(c int) bool { return c == 0 }, "<>": func(c int) bool { return c != 0 }, "!=": func(c int) bool { return c != 0 },
		"<": func(c int) bool { return c < 0 }, ">": func(c int) bool { return c > 0 },
		"<=": func(c int) bool { return c <= 0 }, ">=": func(c int) bool { return c >= 0 },
	}[op]
	var table []signature
	for _, t := range []Type{Text, Bool, Int8, Numeric, Float8, TimestampTZ, Interval} {
		table = append(table, signature{[]Type{t, t}, Bool, func(_ *Env, a []any) (any, error) {
			return holds(compareValues(a[0], a[1])), nil
		}})
	}
	return table
}

func arithmetic(op string) []signature {
	var table []signature
	for _, t := range []Type{Int4, Int8} {
		table = append(table, signature{[]Type{t, t}, t, func(_ *Env, a []any) (any, error) {
			return whole(op, a[0].(int64), a[1].(int64), t)
		}})
	}
	for _, t := range []Type{Numeric, Float8} {
		table = append(table, signature{[]Type{t, t}, t, func(_ *Env, a []any) (any, error) {
			return floating(op, a[0].(float64), a[1].(float64))
		}})
	}
	return table
}

func floating(op string, a, b float64) (any, error) {
	switch op {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	}
	if b == 0 {
		return nil, refuse("22012", "division by zero")
	}
	return a / b, nil
}

func whole(op string, a, b int64, t Type) (any, error) {
	if op == "/" {
		if b == 0 {
			return nil, refuse("22012", "division by zero")
		}
		if b == -1 {
			return whole("-", 0, a, t)
		}
		return a / b, nil
	}
	f, err := floating(op, float64(a), float64(b))
	if err != nil || math.Abs(f.(float64)) >= math.MaxInt64 {
		return nil, refuse("22003", "%s out of range", t)
	}
	switch op {
	case "+":
		a += b
	case "-":
		a -= b
	default:
		a *= b
	}
	return inRange(a, t)
}

// spans are the operators on points and spans of time.
func spans(op string) []signature {
	switch op {
	case "+":
		return []signature{
			{[]Type{TimestampTZ, Interval}, TimestampTZ, func(_ *Env, a []any) (any, error) { return a[0].(time.Time).Add(a[1].(time.Duration)), nil }},
			{[]Type{Interval, Interval}, Interval, func(_ *Env, a []any) (any, error) { return a[0].(time.Duration) + a[1].(time.Duration), nil }},
		}
	case "-":
		return []signature{
			{[]Type{TimestampTZ, TimestampTZ}, Interval, func(_ *Env, a []any) (any, error) { return a[0].(time.Time).Sub(a[1].(time.Time)), nil }},
			{[]Type{TimestampTZ, Interval}, TimestampTZ, func(_ *Env, a []any) (any, error) { return a[0].(time.Time).Add(-a[1].(time.Duration)), nil }},
			{[]Type{Interval, Interval}, Interval, func(_ *Env, a []any) (any, error) { return a[0].(time.Duration) - a[1].(time.Duration), nil }},
		}
	case "*":
		return []signature{{[]Type{Interval, Float8}, Interval, func(_ *Env, a []any) (any, error) {
			return time.Duration(float64(a[0].(time.Duration)) * a[1].(float64)), nil
		}}}
	}
	return nil
}

// literal types a number as PostgreSQL does: the smallest of integer, bigint, numeric that holds it.
func literal(s string) (expr, error) {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		if i <= math.MaxInt32 {
			return constant(i, Int4), nil
		}
		return constant(i, Int8), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return expr{}, refuse("22003", "value %q is out of range for type numeric", s)
	}
	return constant(f, Numeric), nil
}
