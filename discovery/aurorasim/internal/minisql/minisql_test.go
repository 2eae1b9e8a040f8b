package minisql_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/discovery/aurorasim/internal/minisql"
)

// noon is the clock of env.
func noon() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) }

// env is instance b, a reader of a.
func env() *minisql.Env {
	at := func(age time.Duration) *time.Time { return new(noon().Add(-age)) }
	return &minisql.Env{
		Instance: "b", Version: "15.4", Database: "app", User: "me", PID: 42, InRecovery: true,
		Clock: noon(), Transaction: noon().Add(-time.Second), Started: noon().Add(-time.Hour),
		Setting: func(name string) (string, bool) {
			v, ok := map[string]string{"transaction_read_only": "on", "statement_timeout": "0"}[name]
			return v, ok
		},
		Status: []minisql.Row{
			{ServerID: "a", SessionID: "MASTER_SESSION_ID", LastUpdate: at(1500 * time.Millisecond), Current: true},
			{ServerID: "b", SessionID: "s-b", LagMillis: new(20.5), Current: true},
			{ServerID: "c", SessionID: "s-c", LastUpdate: at(5 * time.Minute), LagMillis: new(7.0)},
		},
	}
}

// answer gives the rows as psql -A -t would print them, or the SQLSTATE.
func answer(sql string) string {
	statements, err := minisql.Parse(sql)
	var out []string
	for _, s := range statements {
		var rows [][]any
		if err != nil || s.Kind != minisql.Query {
			break
		}
		rows, err = s.Rows(env())
		for _, r := range rows {
			out = append(out, line(r))
		}
	}
	if refused, ok := errors.AsType[*minisql.Error](err); ok {
		return refused.Code
	}
	return strings.Join(out, "\n")
}

func line(values []any) string {
	var out []string
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			out = append(out, "")
		case bool:
			out = append(out, map[bool]string{true: "t", false: "f"}[v])
		default:
			out = append(out, minisql.Print(v))
		}
	}
	return strings.Join(out, "|")
}

// TestExpressions: the wanted answers are PostgreSQL 15's, from which only the scale of numerics is missing.
func TestExpressions(t *testing.T) {
	for sql, want := range map[string]string{
		"select 1": "1",
		"select 1 + 2 * 3, (1 + 2) * 3, -1, - 2 - -3, 7 / 2, -7 / 2, 7.0 / 2":                                    "7|9|-1|1|3|-3|3.5",
		"select 5 - 3 - 1, 8 / 2 / 2, 1 +2, 1+-2":                                                                "1|2|3|-1",
		"select 'a' = 'b', 'a' < 'b', 1 = 1.0, 1 <> 2, 1 != 1, 2 >= 2, true > false, 1 <= 0":                     "f|t|t|t|f|t|t|f",
		"select null and false, null and true, null or true, not null, null is null, 1 is not null":              "f||t||t|t",
		"select true is true, null is true, null is not true, false is not false":                                "t|f|t|f",
		"select not true = false, not true and false":                                                            "t|f",
		"select 'on'::bool, 'off'::boolean":                                                                      "t|f",
		"select '12'::int, 12::text, 2.5::int, 3.5::int, 2.5::float8::int, 3.5::float8::int, true::int, 0::bool": "12|12|3|4|2|4|1|f",
		"select cast('7' as bigint) + 1, cast(1.5 as double precision), '2.5'::numeric * 2":                      "8|1.5|5",
		"select coalesce(null, 1, 2), coalesce(null, 'x'), coalesce(null)":                                       "1|x|",
		"select extract(epoch from interval '90 seconds'), extract(epoch from interval '1 min') * 1000":          "90|60000",
		"select date_part('epoch', interval '2 min'), extract(epoch from '1970-01-02 00:00:00+00'::timestamptz)": "120|86400",
		"select '2026-01-01 00:00:00+00'::timestamptz + interval '1 day'":                                        "2026-01-02 00:00:00+00",
		"select '2026-01-01 00:00:00+00'::timestamp with time zone - interval '1 hour'":                          "2025-12-31 23:00:00+00",
		"select interval '1 hour' > interval '59 min', interval '1 hour' + interval '1 min' = interval '61 min'": "t|t",
		"select interval '1 hour' * 2 - interval '1 hour' = interval '1 hour'":                                   "t",
		"select round(2.5), round(3.5::float8), round(2.5::float8), floor(-1.5), ceil(1.2), abs(-3.0)":           "3|4|2|-2|2|3",
		"select /* a /* nested */ comment */ 1 -- end":                                                           "1",

		"select 'it''s', 9999999999": "it's|9999999999",
		"select 1 where false":       "",
		"select 1 order by 1":        "1",
		"select 1 limit 0":           "",
		"select 1; ; select 2;":      "1\n2",

		"select 'x'::bool": "22P02", "select 'a' + 1": "22P02", "select 1 = 'x'": "22P02",
		"select 9999999999::int": "22003", "select 2147483647 + 1": "22003", "select 9223372036854775807 + 1": "22003",
		"select 9223372036854775807 * 9223372036854775807": "22003", "select 1e3": "42601", "select 99999999999999999999::int8": "22003",
		"select 1 / 0": "22012", "select 1.0 / 0": "22012", "select coalesce(1, now())": "42804",
		"select interval 'x'": "22007", "select 'x'::timestamptz": "22P02",
		"select 1 where 1": "42804", "select true and 1": "42804", "select 1 or true": "42804", "select not 1": "42804", "select 1 is true": "42804",
		"select 1 = true": "42883", "select now() + 1": "42883", "select -2::text": "42883", "select now()::bool": "42846", "select interval '1 s'::text": "42846", "select 1::nope": "42704",
		"select 1,": "42601", "select (1": "42601", "select 1)": "42601", "select *": "42601", "select 1 2": "42601", "select 1 < 2 < 3": "42601",
		"select 1x": "42601", "select @": "42601", "select 'open": "42601", `select "open`: "42601", "select /* open": "42601", "select f(1": "42601",
		"select a": "42703", "select t.a": "42P01", "select f()": "42883", "select now(1)": "42883", "select $1": "42P02",
		"select extract(year from now())": "0A000", "select date_part('year', now())": "0A000", "select extract(epoch from 1)": "42883",
		"select \xff": "22021",
		"select " + strings.Repeat("(", 1000) + "1":       "54001",
		"select " + strings.Repeat("not ", 1000) + "true": "t",
	} {
		if got := answer(sql); got != want {
			t.Errorf("%s\n got %q\nwant %q", sql, got, want)
		}
	}
}

func TestWhatTheNodeSays(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT Aurora_DB_Instance_Identifier( ), pg_is_in_recovery()":                                           "b|t",
		"select aurora_version(), current_database(), current_user, session_user, pg_backend_pid()":              "15.4|app|me|me|42",
		"select version() = 'PostgreSQL 15.4 (a simulated Aurora instance)'":                                     "t",
		"select pg_catalog.pg_is_in_recovery(), pg_catalog . now() = now()":                                      "t|t",
		"select current_setting('transaction_read_only') = 'on', current_setting('transaction_read_only')::bool": "t|t",
		"select current_setting('nope', true), current_setting('statement_timeout', false)":                      "|0",
		"select current_setting('nope')":                                                                         "42704",
		"select current_setting('nope', false)":                                                                  "42704",
		"show statement_timeout":                                                                                 "0",
		"show nope":                                                                                              "42704",
		"select clock_timestamp(), now(), current_timestamp, transaction_timestamp()":                            "2026-11-29 12:00:00+00|2026-11-29 11:59:59+00|2026-11-29 11:59:59+00|2026-11-29 11:59:59+00",
		"select clock_timestamp() - pg_postmaster_start_time() = interval '1 hour'":                              "t",
	} {
		if got := answer(sql); got != want {
			t.Errorf("%s\n got %q\nwant %q", sql, got, want)
		}
	}
}

func TestWhatTheNodeSaysOfTheOthers(t *testing.T) {
	const from = " from aurora_replica_status()"
	for sql, want := range map[string]string{
		"select server_id, session_id, replica_lag_in_msec" + from:                                                            "a|MASTER_SESSION_ID|\nb|s-b|20.5\nc|s-c|7",
		"select server_id, (extract(epoch from clock_timestamp() - last_update_timestamp) * 1000)::int8" + from:               "a|1500\nb|\nc|300000",
		"select s.server_id, s.is_current" + from + " s where s.session_id = 'MASTER_SESSION_ID'":                             "a|t",
		"select aurora_replica_status.server_id" + from + " where last_update_timestamp is null":                              "b",
		`select x."server_id" as id` + from + " as x where not is_current":                                                    "c",
		"select server_id" + from + " where now() - last_update_timestamp < interval '60 s' or last_update_timestamp is null": "a\nb",
		"select server_id" + from + " order by server_id desc limit 2":                                                        "c\nb",
		"select server_id" + from + " order by last_update_timestamp":                                                         "c\na\nb",
		"select server_id" + from + " order by last_update_timestamp desc":                                                    "b\na\nc",
		"select server_id" + from + " order by last_update_timestamp nulls first, server_id asc":                              "b\nc\na",
		"select server_id" + from + " order by replica_lag_in_msec desc nulls last":                                           "b\nc\na",
		"select 1" + from + " where server_id = 'nobody'":                                                                     "",
		"select pg_is_in_recovery(), server_id" + from + " limit 1":                                                           "t|a",

		"select nope" + from: "42703", "select y.server_id" + from + " x": "42P01", "select server_id" + from + " order by nope": "42703", "select server_id" + from + " order by 1 / 0": "22012",
		"select server_id from pg_class": "42P01", "select server_id from pg_stat_activity()": "42883", "select 1 from aurora_replica_status(1)": "42883",
		"select server_id" + from + ", t": "42601", "select server_id" + from + " where": "42601", "select server_id" + from + " limit x": "42601",
		"select server_id" + from + " group by 1": "42601", "select 1 from (select 1) x": "42601", "select server_id" + from + " where server_id": "42804",
	} {
		if got := answer(sql); got != want {
			t.Errorf("%s\n got %q\nwant %q", sql, got, want)
		}
	}
}

func TestColumnNamesAndTypes(t *testing.T) {
	sql := `select 1 as one, 'x' "Two words", true, 1::text, now(), pg_is_in_recovery() r, coalesce(1), extract(epoch from now()), null,
		interval '1 s', 1.5, now() - now(), last_update_timestamp, replica_lag_in_msec::int8, current_database() from aurora_replica_status()`
	statements, err := minisql.Parse(sql)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range statements[0].Columns {
		got = append(got, c.Name+" "+c.Type.String())
	}
	want := []string{
		"one integer", "Two words text", "bool boolean", "text text", "now timestamp with time zone", "r boolean", "coalesce integer", "extract numeric",
		"?column? text", "interval interval", "?column? numeric", "?column? interval", "last_update_timestamp timestamp with time zone",
		"replica_lag_in_msec bigint", "current_database name",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStarGivesTheColumnsOfAurora(t *testing.T) {
	statements, err := minisql.Parse("select * from aurora_replica_status()")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := statements[0].Rows(env())
	if err != nil || len(rows) != 3 || len(rows[0]) != 22 || len(statements[0].Columns) != 22 {
		t.Errorf("%d rows, %d columns, %v; want 3, 22", len(rows), len(statements[0].Columns), err)
	}
}

func TestStatements(t *testing.T) {
	for sql, want := range map[string]minisql.Statement{
		"":              {Kind: minisql.Empty},
		" ; -- nothing": {Kind: minisql.Empty},
		"begin":         {Kind: minisql.Begin, Tag: "BEGIN"},
		"BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY, NOT DEFERRABLE": {Kind: minisql.Begin, Tag: "BEGIN", ReadOnly: new(true)},
		"start transaction read write":       {Kind: minisql.Begin, Tag: "START TRANSACTION", ReadOnly: new(false)},
		"end work":                           {Kind: minisql.Commit, Tag: "COMMIT"},
		"abort":                              {Kind: minisql.Rollback, Tag: "ROLLBACK"},
		"set session statement_timeout to 5": {Kind: minisql.Set, Tag: "SET", Name: "statement_timeout", Value: "5"},
		"set extra_float_digits = -1":        {Kind: minisql.Set, Tag: "SET", Name: "extra_float_digits", Value: "-1"},
		"set application_name = 'It''s'":     {Kind: minisql.Set, Tag: "SET", Name: "application_name", Value: "It's"},
		"set timezone = default":             {Kind: minisql.Set, Tag: "SET", Name: "timezone", Value: "default", Default: true},
		"set my.own = on":                    {Kind: minisql.Set, Tag: "SET", Name: "my.own", Value: "on"},
		"discard all":                        {Kind: minisql.Forget, Tag: "DISCARD ALL"},
		"insert into t values (1, 'a;b')":    {Kind: minisql.Write, Tag: "INSERT 0 1", Verb: "INSERT"},
		"create table t (i int)":             {Kind: minisql.Write, Tag: "CREATE TABLE", Verb: "CREATE TABLE"},
	} {
		got, err := minisql.Parse(sql)
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", sql, got, err)
			continue
		}
		if diff := cmp.Diff(want, got[0], cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".query" }, cmp.Ignore())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sql, diff)
		}
	}
	for _, sql := range []string{
		"vacuum", "begin x", "start", "commit 1", "set", "set x", "set x =", "set x = (", "set = 1", "set x = -", "show", "show 'x'", "discard plans",
		"insert", "create 1", "(select 1)", "explain select 1", "1",
	} {
		if got := answer(sql); got != "42601" {
			t.Errorf("%s: %q, want 42601", sql, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, sql := range []string{
		"select 1", "select server_id, (extract(epoch from clock_timestamp() - last_update_timestamp) * 1000)::int8 from aurora_replica_status() s order by 1 desc limit 2",
		"begin read only; show x; set a.b to 'c'; commit", "insert into t values (1)", `select "a", $1, 'it''s' /* /* */ */ -- x`,
		"select coalesce(null, 1.5)::text, cast(1 as int) / 0, interval '1 day' * 1e3", "select -9223372036854775807 - 2, -(-1), not null is true",
	} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		statements, err := minisql.Parse(sql)
		if err != nil {
			var refused *minisql.Error
			if !errors.As(err, &refused) || len(refused.Code) != 5 {
				t.Errorf("%v has no SQLSTATE", err)
			}
			return
		}
		for _, s := range statements {
			if s.Kind != minisql.Query {
				continue
			}
			rows, err := s.Rows(env())
			for _, r := range rows {
				if err == nil && len(r) != len(s.Columns) {
					t.Errorf("a row of %d values for %d columns", len(r), len(s.Columns))
				}
			}
		}
	})
}
