package pgcluster

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// Secret is what the servers keep of [Password]: a SCRAM secret.
func (c *Cluster) Secret() (secret string) {
	c.t.Helper()
	c.check(c.Primary().queryRow(context.Background(), "SELECT rolpassword FROM pg_authid WHERE rolname = "+quote(User), &secret))
	return secret
}

// Lighten makes [User]'s secret one of a single iteration, which costs who logs in next to nothing, and returns it.
func (c *Cluster) Lighten() string {
	c.t.Helper()
	secret, err := lightSecret(Password, []byte("salt of sixteen."))
	c.check(err)
	c.Exec(c.Primary().Name, "ALTER ROLE "+User+" PASSWORD "+quote(secret))
	return secret
}

// lightSecret is a SCRAM secret of RFC 5803, as PostgreSQL writes it.
func lightSecret(password string, salt []byte) (string, error) {
	salted, err := pbkdf2.Key(sha256.New, password, salt, 1, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("deriving a SCRAM secret: %w", err)
	}
	of := func(name string) []byte {
		mac := hmac.New(sha256.New, salted)
		mac.Write([]byte(name))
		return mac.Sum(nil)
	}
	stored := sha256.Sum256(of("Client Key"))
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$1:%s$%s:%s", b64(salt), b64(stored[:]), b64(of("Server Key"))), nil
}
