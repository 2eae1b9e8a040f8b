package aurorasim

import (
	"strconv"
	"strings"
	"time"

	"github.com/poolwright/poolwright/discovery/aurorasim/internal/minisql"
)

// defaults are the settings that a session may ask for and change, with their values.
func defaults() map[string]string {
	return map[string]string{
		"application_name": "", "client_encoding": "UTF8", "client_min_messages": "notice", "datestyle": "ISO, MDY",
		"default_transaction_isolation": "read committed", "extra_float_digits": "1", "idle_in_transaction_session_timeout": "0",
		"idle_session_timeout": "0", "intervalstyle": "postgres", "lock_timeout": "0", "search_path": `"$user", public`,
		"standard_conforming_strings": "on", "statement_timeout": "0", "tcp_keepalives_idle": "0", "timezone": "UTC",
		"default_transaction_read_only": "off",
	}
}

// reported are the settings that a client is told after login.
func reported() []string {
	return []string{
		"application_name", "client_encoding", "DateStyle", "default_transaction_read_only", "in_hot_standby", "integer_datetimes",
		"IntervalStyle", "is_superuser", "server_encoding", "server_version", "session_authorization", "standard_conforming_strings",
		"TimeZone",
	}
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// setting gives the value of a setting in this session, of which me is the node.
func (s *session) setting(name string, me self) (string, bool) {
	name = strings.ToLower(name)
	switch name {
	case "transaction_read_only":
		return onOff(s.readOnly(me)), true
	case "default_transaction_read_only":
		if v, ok := s.settings[name]; ok {
			return v, true
		}
		return onOff(me.readOnly), true
	case "in_hot_standby":
		return onOff(me.inRecovery), true
	case "integer_datetimes":
		return "on", true
	case "is_superuser":
		return "off", true
	case "server_encoding":
		return "UTF8", true
	case "server_version":
		return s.c.cfg.Version, true
	case "session_authorization":
		return s.user, true
	case "cluster_name":
		return me.name, true
	}
	if v, ok := s.settings[name]; ok {
		return v, true
	}
	v, ok := defaults()[name]
	return v, ok
}

// readOnly reports whether a write in this session is refused.
func (s *session) readOnly(me self) bool {
	if me.inRecovery {
		return true
	}
	if s.tx.readOnly != nil {
		return *s.tx.readOnly
	}
	if v, ok := s.settings["default_transaction_read_only"]; ok {
		return v == "on"
	}
	return me.readOnly
}

// env is what a statement's answer may depend on now.
func (s *session) env() *minisql.Env {
	s.c.mu.Lock()
	me := s.node.answerer().self()
	s.c.mu.Unlock()
	began := s.tx.began
	if began.IsZero() {
		began = me.now
	}
	return &minisql.Env{
		Instance: me.name, Version: s.c.cfg.Version, Database: s.database, User: s.user, PID: int64(s.pid),
		InRecovery: me.inRecovery, Clock: me.now, Transaction: began, Started: me.started, Status: me.rows,
		ReadOnly: s.readOnly(me),
		Setting:  func(name string) (string, bool) { return s.setting(name, me) },
	}
}

// set changes a setting of this session.
func (s *session) set(name, value string, toDefault bool) error {
	name = strings.ToLower(name)
	if _, ok := defaults()[name]; !ok {
		return newError("42704", "unrecognized configuration parameter %q", name)
	}
	if toDefault {
		delete(s.settings, name)
		return nil
	}
	v, err := normal(name, value)
	if err != nil {
		return newError("22023", "invalid value for parameter %q: %q", name, value)
	}
	s.settings[name] = v
	return nil
}

// normal checks the values that mean something here and gives them their normal form.
func normal(name, value string) (string, error) {
	switch name {
	case "default_transaction_read_only":
		b, err := minisql.ParseBool(value)
		return onOff(b), err
	case "statement_timeout":
		_, err := timeout(value)
		return value, err
	}
	return value, nil
}

// timeout reads milliseconds, or a number with a unit: "100ms", "5s", "1min".
func timeout(value string) (time.Duration, error) {
	if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(ms) * time.Millisecond, nil
	}
	return time.ParseDuration(strings.Replace(value, "min", "m", 1))
}

// statementTimeout is the session's, 0 for none.
func (s *session) statementTimeout() time.Duration {
	d, _ := timeout(s.settings["statement_timeout"]) // it was checked when it was set; none is 0
	return d
}
