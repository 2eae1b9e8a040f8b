package aurorasim

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// verifier asks a client for its password and judges it.
type verifier interface {
	verify(*session) (ok bool, err error)
}

func newVerifier(cfg Config) verifier {
	switch {
	case cfg.Password == "":
		return trust{}
	case cfg.Auth == Cleartext:
		return cleartext(cfg.Password)
	}
	return newSCRAM(cfg.Password, cfg.Name)
}

type trust struct{}

func (trust) verify(*session) (bool, error) { return true, nil }

type cleartext string

func (p cleartext) verify(s *session) (bool, error) {
	s.be.Send(&pgproto3.AuthenticationCleartextPassword{})
	m, err := s.ask(pgproto3.AuthTypeCleartextPassword)
	if err != nil {
		return false, err
	}
	given, ok := m.(*pgproto3.PasswordMessage)
	return ok && subtle.ConstantTimeCompare([]byte(given.Password), []byte(p)) == 1, nil
}

// ask sends a pending question and receives the answer to it.
func (s *session) ask(authType uint32) (pgproto3.FrontendMessage, error) {
	if err := s.be.SetAuthType(authType); err != nil {
		return nil, err
	}
	if err := s.flush(); err != nil {
		return nil, err
	}
	m, err := s.be.Receive()
	if err != nil {
		return nil, s.refuseMessage(err)
	}
	return m, nil
}

// scram is the server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677). Passwords are taken as they are, without SASLprep.
type scram struct {
	salt, storedKey, serverKey []byte
}

const (
	scramName       = "SCRAM-SHA-256"
	scramIterations = 4096
)

func newSCRAM(password, seed string) *scram {
	sum := sha256.Sum256([]byte("salt of " + seed))
	v := &scram{salt: sum[:16]}
	salted, err := pbkdf2.Key(sha256.New, password, v.salt, scramIterations, sha256.Size)
	if err != nil {
		panic(err) // only for parameters that FIPS forbids; these are constants
	}
	stored := sha256.Sum256(mac(salted, "Client Key"))
	v.storedKey = stored[:]
	v.serverKey = mac(salted, "Server Key")
	return v
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func (v *scram) verify(s *session) (bool, error) {
	s.be.Send(&pgproto3.AuthenticationSASL{AuthMechanisms: []string{scramName}})
	m, err := s.ask(pgproto3.AuthTypeSASL)
	if err != nil {
		return false, err
	}
	initial, ok := m.(*pgproto3.SASLInitialResponse)
	if !ok || initial.AuthMechanism != scramName {
		return false, s.fatal("08P01", "client selected an invalid SASL authentication mechanism")
	}
	header, bare, nonce, ok := clientFirst(string(initial.Data))
	if !ok {
		return false, s.fatal("08P01", "malformed SCRAM message")
	}
	nonce += rand.Text()
	first := fmt.Sprintf("r=%s,s=%s,i=%d", nonce, base64.StdEncoding.EncodeToString(v.salt), scramIterations)
	s.be.Send(&pgproto3.AuthenticationSASLContinue{Data: []byte(first)})
	if m, err = s.ask(pgproto3.AuthTypeSASLContinue); err != nil {
		return false, err
	}
	response, ok := m.(*pgproto3.SASLResponse)
	if !ok {
		return false, s.fatal("08P01", "expected SASL response")
	}
	unproven := "c=" + base64.StdEncoding.EncodeToString([]byte(header)) + ",r=" + nonce
	proof, ok := strings.CutPrefix(string(response.Data), unproven+",p=")
	message := bare + "," + first + "," + unproven
	if !ok || !v.proves(proof, message) {
		return false, nil
	}
	signature := base64.StdEncoding.EncodeToString(mac(v.serverKey, message))
	s.be.Send(&pgproto3.AuthenticationSASLFinal{Data: []byte("v=" + signature)})
	return true, nil
}

// clientFirst takes the first message of a client apart: "n,,n=user,r=nonce". A client may not ask for channel binding.
func clientFirst(m string) (header, bare, nonce string, ok bool) {
	for _, header := range []string{"n,,", "y,,"} {
		if bare, found := strings.CutPrefix(m, header); found {
			_, nonce, found := strings.Cut(bare, ",r=")
			return header, bare, nonce, found && nonce != "" && strings.HasPrefix(bare, "n=")
		}
	}
	return "", "", "", false
}

// proves checks that whoever made the proof knows the client key.
func (v *scram) proves(proof, message string) bool {
	key, err := base64.StdEncoding.DecodeString(proof)
	if err != nil || len(key) != sha256.Size {
		return false
	}
	subtle.XORBytes(key, key, mac(v.storedKey, message))
	sum := sha256.Sum256(key)
	return hmac.Equal(sum[:], v.storedKey)
}
