package sign

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrKey is the kind, by errors.Is, of each error that a person has to mend at the signing key. Trying again does not help.
var ErrKey = errors.New("the signing key cannot be used")

// Soon is how long before its end a key is worth a warning.
const Soon = 14 * 24 * time.Hour

// ExpiryError is what Check returns for a key that signs today and ends within [Soon]. It is a warning and no ErrKey.
type ExpiryError struct{ At time.Time }

func (e *ExpiryError) Error() string {
	return "the signing key ends on " + e.At.UTC().Format(time.DateTime) + " UTC"
}

// Signer signs commits with one key. It keeps nothing of the key and may be used by several goroutines.
type Signer struct {
	open func(context.Context, time.Time) (key, error)
	now  func() time.Time
}

// key is a key that was read and may sign now.
type key interface {
	// sign returns the armored signature, verified, ending in one newline.
	sign(message []byte, now time.Time) (string, error)
	// end is when the key stops to be valid, zero for never.
	end() time.Time
	// public describes the key to people.
	public() string
}

// Sign returns the armored signature of a commit: the value of its gpgsig header, in lines that end in a newline. The commit is the
// object's content as it is without that header. An error of the key is an [ErrKey]; the end of ctx is ctx's error.
func (s *Signer) Sign(ctx context.Context, commit []byte) (string, error) {
	now := s.now()
	k, err := s.open(ctx, now)
	if err != nil {
		return "", err
	}
	return k.sign(commit, now)
}

// Check tells whether Sign would work at that time: nil, an [ErrKey], or an [ExpiryError] when it would not for long.
func (s *Signer) Check(ctx context.Context, now time.Time) error {
	k, err := s.open(ctx, now)
	if err != nil {
		return err
	}
	if _, err := k.sign([]byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\ncheck\n"), now); err != nil {
		return err
	}
	if end := k.end(); !end.IsZero() && end.Sub(now) <= Soon {
		return &ExpiryError{end}
	}
	return nil
}

// Public describes the key in one line for people, by what a forge shows of it: its type and fingerprint, and for OpenPGP its user.
func (s *Signer) Public(ctx context.Context) (string, error) {
	k, err := s.open(ctx, s.now())
	if err != nil {
		return "", err
	}
	return k.public(), nil
}

// keyError is an ErrKey.
func keyError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrKey, fmt.Errorf(format, args...))
}

// source reads a key and its passphrase.
type source func(context.Context) (text, passphrase []byte, err error)

func (s source) read(ctx context.Context) (text, passphrase []byte, err error) {
	if s == nil {
		return nil, nil, keyError("no key is configured")
	}
	text, passphrase, err = s(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err != nil:
		return nil, nil, keyError("reading the key: %w", err)
	case len(text) == 0:
		return nil, nil, keyError("the key is empty")
	}
	return text, passphrase, nil
}

// clock is now, or the machine's.
func clock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}
