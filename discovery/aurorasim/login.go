package aurorasim

import (
	"crypto/tls"
	"fmt"
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
	if first.ProtocolVersion != pgproto3.ProtocolVersion30 || hasProtocolOption(first.Parameters) {
		s.be.Send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: 0, UnrecognizedOptions: protocolOptions(first.Parameters)})
	}
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
	for name, value := range parameters {
		switch {
		case name == "user" || name == "database" || strings.HasPrefix(name, "_pq_."):
			continue
		case name == "options":
			if !s.options(value) {
				return s.fatal("42601", fmt.Sprintf("invalid command-line argument for server process: %s", value))
			}
			continue
		case !settable(name):
			return s.fatal("42704", fmt.Sprintf("unrecognized configuration parameter %q", name))
		}
		s.settings[strings.ToLower(name)] = value
	}
	return nil
}

// options applies "-c name=value" and "--name=value" pairs.
func (s *session) options(text string) bool {
	words := strings.Fields(text)
	for len(words) > 0 {
		var pair string
		switch {
		case words[0] == "-c" && len(words) > 1:
			pair, words = words[1], words[2:]
		case strings.HasPrefix(words[0], "-c"), strings.HasPrefix(words[0], "--"):
			pair, words = words[0][2:], words[1:]
		default:
			return false
		}
		name, value, ok := strings.Cut(pair, "=")
		if !ok || !settable(name) {
			return false
		}
		s.settings[strings.ToLower(name)] = value
	}
	return true
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

func hasProtocolOption(parameters map[string]string) bool {
	return len(protocolOptions(parameters)) > 0
}

func protocolOptions(parameters map[string]string) []string {
	var options []string
	for name := range parameters {
		if strings.HasPrefix(name, "_pq_.") {
			options = append(options, name)
		}
	}
	return options
}
