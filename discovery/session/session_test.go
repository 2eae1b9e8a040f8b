package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"go.uber.org/goleak"

	"github.com/poolwright/poolwright/discovery"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOneConnectionIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		s := New(server.config(), Address{Host: "db"})
		defer s.Close()
		for range 3 {
			asks(t, s)
		}
		if server.dialled() != 1 {
			t.Errorf("dialled %d times", server.dialled())
		}
		s.Reset()
		if asks(t, s); server.dialled() != 2 {
			t.Errorf("after a reset: dialled %d times", server.dialled())
		}
	})
}

// A node that has restarted is not a node that is down.
func TestAKeptConnectionThatDiedIsReplacedWithinTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		s := New(server.config(), Address{Host: "db"})
		defer s.Close()
		asks(t, s)
		server.restart()
		if asks(t, s); server.dialled() != 2 {
			t.Errorf("dialled %d times", server.dialled())
		}
	})
}

func TestAnyErrorThrowsTheConnectionAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		s := New(server.config(), Address{Host: "db"})
		defer s.Close()
		asks(t, s)
		server.set(welcome, refuses("ERROR", "42883", "function does not exist"))
		fault(t, s, discovery.Broken, "function does not exist (SQLSTATE 42883)")
		server.set(welcome, one)
		if asks(t, s); server.dialled() != 2 {
			t.Errorf("dialled %d times", server.dialled())
		}
	})
}

func TestAQuestionEndsAtTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		s := New(server.config(), Address{Host: "db"})
		defer s.Close()
		asks(t, s)
		server.set(welcome, hangs)
		begun := time.Now()
		fault(t, s, discovery.Timeout, "no answer before the deadline")
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
		server.set(welcome, one)
		if asks(t, s); server.dialled() != 2 {
			t.Errorf("dialled %d times: a question that timed out is not cancelled over another connection", server.dialled())
		}
	})
}

func TestTheContextsEarlierDeadlineWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		server.set(welcome, hangs)
		s := New(server.config(), Address{Host: "db"})
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		begun := time.Now()
		_, err := s.Ask(ctx, "SELECT 1")
		if took := time.Since(begun); took != 200*time.Millisecond || !isFault(err, discovery.Timeout) {
			t.Errorf("took %s: %v", took, err)
		}
	})
}

// In a failover window deadlines may be shorter than a handshake takes.
func TestConnectingGoesOnBeyondTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		slow := func(b *pgproto3.Backend) { time.Sleep(time.Second); welcome(b) }
		server.set(slow, one)
		s := New(server.config(), Address{Host: "db"})
		defer s.Close()
		tries := 0
		for answered := false; !answered; tries++ {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			_, err := s.Ask(ctx, "SELECT 1")
			answered = err == nil
			cancel()
		}
		if tries != 4 || server.dialled() != 1 {
			t.Errorf("answered at try %d, dialled %d times", tries, server.dialled())
		}
	})
}

func TestConnectingEndsAtTheTimeoutToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		server.set(hangs, one)
		s := New(server.config(), Address{Host: "db"})
		defer s.Close()
		fault(t, s, discovery.Timeout, "no answer before the deadline")
		synctest.Wait()
		server.set(welcome, one)
		if asks(t, s); server.dialled() != 2 {
			t.Errorf("dialled %d times", server.dialled())
		}
	})
}

func TestClosingEndsAnAttemptThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		server.set(hangs, one)
		s := New(server.config(), Address{Host: "db"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.Ask(ctx, "SELECT 1"); !isFault(err, discovery.Timeout) {
			t.Error(err)
		}
		s.Close()
		synctest.Wait() // the bubble ends only when nothing is left
	})
}

func TestASetKeepsOneSessionForEachEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		set := NewSet(server.config())
		defer set.Close()
		ask := func(host string, how func(context.Context, Address, string) error) {
			t.Helper()
			if err := how(t.Context(), Address{Host: host}, "SELECT 1"); err != nil {
				t.Error(err)
			}
		}
		kept := func(ctx context.Context, at Address, q string) error { _, err := set.Ask(ctx, at, q); return err }
		once := func(ctx context.Context, at Address, q string) error { _, err := set.AskOnce(ctx, at, q); return err }
		for _, step := range []struct {
			do   func()
			want int
		}{
			{func() { ask("a", kept); ask("b", kept); ask("a", kept) }, 2},
			{func() { ask("a", once); ask("a", once) }, 4},
			{func() { set.Only(map[Address]bool{{Host: "a"}: true}); ask("a", kept) }, 4},
			{func() { ask("b", kept) }, 5},
			{func() { set.Reset(Address{Host: "a"}); ask("a", kept) }, 6},
		} {
			if step.do(); server.dialled() != step.want {
				t.Errorf("dialled %d times, want %d", server.dialled(), step.want)
			}
		}
	})
}

func TestFaultsByWhatTheServerSays(t *testing.T) {
	for code, want := range map[string]discovery.Fault{
		"57P03": discovery.StartingUp, "57P01": discovery.Unreachable, "57P02": discovery.Unreachable, "08006": discovery.Unreachable,
		"28P01": discovery.Denied, "28000": discovery.Denied, "42501": discovery.Denied, "57014": discovery.Timeout,
		"3D000": discovery.Broken, "53300": discovery.Broken, "42883": discovery.Broken,
	} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer()
			server.set(refuses("FATAL", code, "no"), one)
			s := New(server.config(), Address{Host: "db"})
			defer s.Close()
			fault(t, s, want, "no (SQLSTATE "+code+")")
		})
	}
}

func TestFaultsOfTheNetwork(t *testing.T) {
	refused := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}()
	for name, c := range map[string]struct {
		dial   func(context.Context, string, string) (net.Conn, error)
		lookup func(context.Context, string) ([]string, error)
		want   discovery.Fault
		detail string
	}{
		"refused": {
			dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, refused)
			},
			want: discovery.Unreachable, detail: "connection refused",
		},
		"no such name": {
			lookup: func(_ context.Context, host string) ([]string, error) {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			},
			want: discovery.Unreachable, detail: "looking up db: no such host",
		},
		"a dial that times out": {
			dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
			},
			want: discovery.Timeout, detail: "no answer before the deadline",
		},
		"closed in the middle": {
			dial: func(context.Context, string, string) (net.Conn, error) {
				a, b := net.Pipe()
				go func() { _, _ = b.Read(make([]byte, 8)); b.Close() }()
				return a, nil
			},
			want: discovery.Unreachable, detail: "",
		},
		"no PostgreSQL": {
			dial: func(context.Context, string, string) (net.Conn, error) {
				a, b := net.Pipe()
				go func() {
					_, _ = b.Read(make([]byte, 1024))
					_, _ = b.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
					b.Close()
				}()
				return a, nil
			},
			want: discovery.Broken, detail: "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := newServer().config()
			if c.dial != nil {
				config.Dial = c.dial
			}
			if c.lookup != nil {
				config.Lookup = c.lookup
			}
			s := New(config, Address{Host: "db"})
			defer s.Close()
			fault(t, s, c.want, c.detail)
		})
	}
}

func TestNoPasswordInAnyError(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"an impossible sslmode": func(c *Config) { c.SSLMode = "such as " + secret },
		"a CA that is not there": func(c *Config) {
			c.SSLMode, c.RootCert = "verify-full", filepath.Join(t.TempDir(), secret)
		},
		"a database of the same name": func(c *Config) {
			c.Database = secret
			c.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("database " + secret) }
		},
		"a user of the same name": func(c *Config) {
			c.Credentials = func(context.Context, string, int) (string, string, error) { return secret, secret, nil }
			server := newServer()
			server.set(refuses("FATAL", "28P01", `password authentication failed for user "`+secret+`"`), one)
			c.Dial = server.dial
		},
		"a name that does not resolve": func(c *Config) {
			c.Lookup = func(context.Context, string) ([]string, error) { return nil, fmt.Errorf("looking up for %s", secret) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := newServer().config()
			change(&config)
			s := New(config, Address{Host: "db"})
			defer s.Close()
			_, err := s.Ask(t.Context(), "SELECT 1")
			if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(fmt.Sprintf("%+v %#v", err, errors.Unwrap(err)), secret) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestASettingThatIsWrongIsSaid(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"setting up the connection: sslmode is invalid": func(c *Config) { c.SSLMode = "on" },
		"setting up the connection: unable to read CA file: open /nowhere/ca.pem: no such file or directory": func(c *Config) {
			c.SSLMode, c.RootCert = "verify-full", "/nowhere/ca.pem"
		},
	} {
		config := newServer().config()
		change(&config)
		s := New(config, Address{Host: "db"})
		fault(t, s, discovery.Broken, want)
		s.Close()
	}
}

func TestCredentialsAreFetchedForEachConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		config, fetched := server.config(), 0
		config.Credentials = func(_ context.Context, host string, port int) (string, string, error) {
			if fetched++; host != "db" || port != 5433 {
				t.Errorf("for %s:%d", host, port)
			}
			if fetched == 3 {
				return "", "", errors.New("the token service is away")
			}
			return "app", secret, nil
		}
		s := New(config, Address{Host: "db", Port: 5433})
		defer s.Close()
		asks(t, s)
		if asks(t, s); fetched != 1 {
			t.Errorf("fetched %d times for one connection", fetched)
		}
		s.Reset()
		if asks(t, s); fetched != 2 {
			t.Errorf("fetched %d times for two connections", fetched)
		}
		s.Reset()
		fault(t, s, discovery.Denied, "getting credentials: the token service is away")
	})
}

func TestWhatTheServerIsToldAtLogin(t *testing.T) {
	config := Config{Timeout: 1500 * time.Millisecond, Database: `we\ird 'name'`, SSLMode: "disable"}
	d, err := config.driver(Address{Host: "::1"}, "", secret)
	if err != nil {
		t.Fatal(err)
	}
	if d.Host != "::1" || d.Port != 5432 || d.User != "postgres" || d.Password != secret || d.Database != config.Database || d.TLSConfig != nil {
		t.Errorf("got %s:%d %s %q", d.Host, d.Port, d.User, d.Database)
	}
	if p := d.RuntimeParams; p["application_name"] != "poolwright" || p["statement_timeout"] != "1500" || len(p) != 3 {
		t.Errorf("got %v", p)
	}
}

func fault(t *testing.T, s *Session, want discovery.Fault, detail string) {
	t.Helper()
	_, err := s.Ask(t.Context(), "SELECT 1")
	var failure *Error
	if !errors.As(err, &failure) || failure.Fault != want || detail != "" && failure.Detail != detail {
		t.Errorf("got %v, want %v: %s", err, want, detail)
	}
}

func isFault(err error, want discovery.Fault) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.Fault == want
}
