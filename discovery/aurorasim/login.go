package aurorasim

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// login goes from the first byte to ReadyForQuery.
func (s *session) login() error {
	first, err := s.startup()
	if err != nil {
		return err
	}
	_ = s.delay(0)
	s.user = first.Parameters["user"]
	s.database = first.Parameters["database"]
	if s.database == "" {
		s.database = s.user
	}
	if err := s.admit(); err != nil {
		return err
	}
	s.negotiate(first)
	if err := s.authenticate(); err != nil {
		return err
	}
	if err := s.startupSettings(first.Parameters); err != nil {
		return err
	}
	s.welcome()
	return s.flush()
}

// startup answers what may come before the startup message.
func (s *session) startup() (*pgproto3.StartupMessage, error) {
	for {
		m, err := s.be.ReceiveStartupMessage()
		if err != nil {
			return nil, err
		}
		switch m := m.(type) {
		case *pgproto3.StartupMessage:
			return m, nil
		case *pgproto3.CancelRequest:
			s.c.cancelRequest(m)
			return nil, errGone
		case *pgproto3.SSLRequest:
			err = s.encrypt()
		default: // GSSENCRequest
			err = s.reply('N')
		}
		if err != nil {
			return nil, err
		}
	}
}

// reply is the one byte that answers a request for encryption.
func (s *session) reply(b byte) error {
	garbage, err := s.pass()
	if err != nil {
		return err
	}
	if garbage {
		b = '?'
	}
	_, err = s.conn.Write([]byte{b})
	return err
}

func (s *session) encrypt() error {
	if _, already := s.conn.(*tls.Conn); s.c.tls == nil || already {
		return s.reply('N')
	}
	if err := s.reply('S'); err != nil {
		return err
	}
	t := tls.Server(s.conn, s.c.tls)
	if err := t.HandshakeContext(s.ctx); err != nil {
		return err
	}
	s.use(t)
	return nil
}

// admit refuses the login for what the node, not the client, is.
func (s *session) admit() error {
	s.c.mu.Lock()
	n := s.node
	early, full, deny := n.phase == starting || n.has(StartingUp), n.has(TooManyConnections), n.has(DenyAuth)
	s.c.mu.Unlock()
	switch {
	case early:
		return s.fatal("57P03", "the database system is starting up")
	case full:
		return s.fatal("53300", "sorry, too many clients already")
	case deny:
		return s.denied()
	}
	return nil
}

func (s *session) denied() error {
	return s.fatal("28P01", fmt.Sprintf("password authentication failed for user %q", s.user))
}

func (s *session) authenticate() error {
	if s.user == "" {
		return s.fatal("28000", "no PostgreSQL user name specified in startup packet")
	}
	ok, err := s.c.verify.verify(s)
	if err != nil {
		return err
	}
	if user := s.c.cfg.User; !ok || user != "" && user != s.user {
		return s.denied()
	}
	s.be.Send(&pgproto3.AuthenticationOk{})
	return s.be.SetAuthType(pgproto3.AuthTypeOk)
}

// startupSettings applies the parameters of the startup message, the options of libpq included.
func (s *session) startupSettings(parameters map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		var err error
		switch {
		case name == "user" || name == "database" || strings.HasPrefix(name, protocolOption):
		case name == "options":
			err = s.options(parameters[name])
		default:
			err = s.set(name, parameters[name], false)
		}
		if refused, ok := errors.AsType[*pgError](err); ok {
			return s.fatal(refused.code, refused.message)
		}
	}
	return nil
}

// options applies "-c name=value" and "--name=value" pairs.
func (s *session) options(text string) error {
	text = strings.ReplaceAll(text, "-c ", "-c")
	for option := range strings.FieldsSeq(text) {
		name, value, ok := strings.Cut(option, "=")
		switch {
		case ok && strings.HasPrefix(name, "-c"), ok && strings.HasPrefix(name, "--"):
			if err := s.set(name[2:], value, false); err != nil {
				return err
			}
		default:
			return newError("42601", "invalid command-line argument for server process: %s", option)
		}
	}
	return nil
}

// welcome reports what PostgreSQL reports after a login.
func (s *session) welcome() {
	env := s.env()
	for _, name := range reported() {
		value, _ := env.Setting(name)
		s.be.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	s.be.Send(&pgproto3.BackendKeyData{ProcessID: s.pid, SecretKey: secret(s.pid)})
	s.ready()
}

func (s *session) ready() { s.be.Send(&pgproto3.ReadyForQuery{TxStatus: s.tx.status()}) }

// protocolOption begins the names of parameters that ask for protocol extensions. None is known here.
const protocolOption = "_pq_."

// negotiate tells a client that wants more than protocol 3.0 that there is no more.
func (s *session) negotiate(m *pgproto3.StartupMessage) {
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(m.Parameters)) {
		if strings.HasPrefix(name, protocolOption) {
			unknown = append(unknown, name)
		}
	}
	if m.ProtocolVersion != pgproto3.ProtocolVersion30 || unknown != nil {
		s.be.Send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: pgproto3.ProtocolVersion30, UnrecognizedOptions: unknown})
	}
}
