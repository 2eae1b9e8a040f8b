package minisql

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// Type is the OID of a PostgreSQL type. Values are held as: Bool bool; Int4 and Int8 int64;
// Numeric and Float8 float64; Text and Name string; TimestampTZ time.Time; Interval time.Duration; NULL nil.
type Type uint32

// The types that the tables of this package know.
const (
	Bool        Type = pgtype.BoolOID
	Int4        Type = pgtype.Int4OID
	Int8        Type = pgtype.Int8OID
	Numeric     Type = pgtype.NumericOID
	Float8      Type = pgtype.Float8OID
	Text        Type = pgtype.TextOID
	Name        Type = pgtype.NameOID
	TimestampTZ Type = pgtype.TimestamptzOID
	Interval    Type = pgtype.IntervalOID
	unknown     Type = pgtype.UnknownOID // of a string literal or NULL until its use says more
)

// String is the type's name in error messages.
func (t Type) String() string {
	switch t {
	case Bool:
		return "boolean"
	case Int4:
		return "integer"
	case Int8:
		return "bigint"
	case Numeric:
		return "numeric"
	case Float8:
		return "double precision"
	case Text:
		return "text"
	case Name:
		return "name"
	case TimestampTZ:
		return "timestamp with time zone"
	case Interval:
		return "interval"
	case unknown:
		return "unknown"
	}
	return "oid " + strconv.FormatUint(uint64(t), 10)
}

// typeNamed knows the names that a cast may use, and the column name that such a cast gives.
func typeNamed(name string) (t Type, column string, ok bool) {
	switch name {
	case "bool", "boolean":
		return Bool, "bool", true
	case "int", "int4", "integer":
		return Int4, "int4", true
	case "bigint", "int8":
		return Int8, "int8", true
	case "numeric", "decimal":
		return Numeric, "numeric", true
	case "float8", "float":
		return Float8, "float8", true
	case "text":
		return Text, "text", true
	case "timestamptz":
		return TimestampTZ, "timestamptz", true
	case "interval":
		return Interval, "interval", true
	}
	return 0, "", false
}

// implicit reports whether a value of type from may stand where to is asked for, without a cast.
func implicit(from, to Type) bool {
	if from == to || from == unknown {
		return true
	}
	switch to {
	case Int8:
		return from == Int4
	case Numeric:
		return from == Int4 || from == Int8
	case Float8:
		return from == Int4 || from == Int8 || from == Numeric
	case Text:
		return from == Name
	}
	return false
}

// convert gives v, of type from, as a value of type to. v is not NULL.
func convert(v any, from, to Type) (any, error) {
	if s, ok := v.(string); ok && to != Text && to != Name {
		return fromText(strings.TrimSpace(s), to)
	}
	switch to {
	case Bool:
		return v != int64(0), nil
	case Int4, Int8:
		return toInt(v, from, to)
	case Numeric, Float8:
		if i, ok := v.(int64); ok {
			return float64(i), nil
		}
	case Text:
		return Print(v), nil
	}
	return v, nil
}

// castable reports whether an explicit cast exists.
func castable(from, to Type) bool {
	if implicit(from, to) || to == Text && from != Interval {
		return true
	}
	switch from {
	case Text, Name:
		return true
	case Int4:
		return to == Bool || to == Int8 || to == Numeric || to == Float8
	case Int8, Numeric, Float8:
		return to == Int4 || to == Int8 || to == Numeric || to == Float8
	case Bool:
		return to == Int4
	}
	return false
}

func toInt(v any, from, to Type) (any, error) {
	var f float64
	switch v := v.(type) {
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case int64:
		return inRange(v, to)
	case float64:
		f = math.RoundToEven(v)
		if from == Numeric {
			f = math.Round(v)
		}
	}
	if !(f >= math.MinInt64 && f < math.MaxInt64) {
		return nil, refuse("22003", "%s out of range", to)
	}
	return inRange(int64(f), to)
}

func inRange(v int64, t Type) (any, error) {
	if t == Int4 && (v < math.MinInt32 || v > math.MaxInt32) {
		return nil, refuse("22003", "%s out of range", t)
	}
	return v, nil
}

func fromText(s string, to Type) (any, error) {
	switch to {
	case Bool:
		return ParseBool(s)
	case Int4, Int8:
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return inRange(i, to)
		}
	case Numeric, Float8:
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return f, nil
		}
	case TimestampTZ:
		for _, layout := range []string{"2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999Z07:00", time.RFC3339Nano} {
			if t, err := time.Parse(layout, s); err == nil {
				return t, nil
			}
		}
	case Interval:
		if d, ok := interval(s); ok {
			return d, nil
		}
	}
	return nil, refuse("22P02", "invalid input syntax for type %s: %q", to, s)
}

// ParseBool reads a boolean as PostgreSQL's input function does, without abbreviations.
func ParseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "on", "true", "t", "yes", "y", "1":
		return true, nil
	case "off", "false", "f", "no", "n", "0":
		return false, nil
	}
	return false, refuse("22P02", "invalid input syntax for type boolean: %q", s)
}

// interval reads "300 seconds", "1 min" and the like: one quantity, one unit no longer than a day.
func interval(s string) (time.Duration, bool) {
	quantity, unit, _ := strings.Cut(s, " ")
	q, err := strconv.ParseFloat(quantity, 64)
	if err != nil {
		return 0, false
	}
	units := map[string]time.Duration{
		"": time.Second, "millisecond": time.Millisecond, "second": time.Second, "sec": time.Second,
		"minute": time.Minute, "min": time.Minute, "hour": time.Hour, "day": 24 * time.Hour,
	}
	u, ok := units[strings.TrimSuffix(strings.ToLower(strings.TrimSpace(unit)), "s")]
	return time.Duration(q * float64(u)), ok
}

// Print is a value as text, as PostgreSQL prints it in UTC.
func Print(v any) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05.999999-07")
	}
	return fmt.Sprint(v)
}

// Wire is a value in the form that pgtype encodes.
func Wire(t Type, v any) any {
	f, ok := v.(float64)
	if t != Numeric || !ok {
		return v
	}
	var n pgtype.Numeric
	if err := n.Scan(strconv.FormatFloat(f, 'f', -1, 64)); err != nil {
		return pgtype.Numeric{NaN: true, Valid: true}
	}
	return n
}
