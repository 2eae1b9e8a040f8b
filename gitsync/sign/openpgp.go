package sign

import (
	"bytes"
	"context"
	"crypto"
	"fmt"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// OpenPGPOptions say what OpenPGP signs with.
type OpenPGPOptions struct {
	// Key returns one exported secret key, armored or binary, and its passphrase when it has one. It is asked on each use. The primary
	// secret may be missing when there is a subkey that may sign (gpg --export-secret-subkeys).
	Key func(context.Context) (key, passphrase []byte, err error)
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// OpenPGP returns a signer with an OpenPGP key. Nothing is read yet.
func OpenPGP(o OpenPGPOptions) *Signer {
	return &Signer{now: clock(o.Now), open: func(ctx context.Context, now time.Time) (key, error) {
		text, passphrase, err := source(o.Key).read(ctx)
		if err != nil {
			return nil, err
		}
		entity, err := parseOpenPGP(text)
		if err != nil {
			return nil, err
		}
		return usable(entity, passphrase, now)
	}}
}

func parseOpenPGP(text []byte) (*openpgp.Entity, error) {
	read := openpgp.ReadKeyRing
	if bytes.Contains(text, []byte("-----BEGIN PGP")) {
		read = openpgp.ReadArmoredKeyRing
	}
	ring, err := read(bytes.NewReader(text))
	switch {
	case err != nil || len(ring) == 0:
		return nil, keyError("the OpenPGP key cannot be read")
	case len(ring) > 1:
		return nil, keyError("there are %d OpenPGP keys and one is needed", len(ring))
	}
	return ring[0], nil
}

// usable picks what signs, and opens it.
func usable(entity *openpgp.Entity, passphrase []byte, now time.Time) (key, error) {
	chosen, ok := entity.SigningKey(now)
	if !ok {
		return nil, unusable(entity, now)
	}
	secret := chosen.PrivateKey
	switch {
	case secret == nil || secret.Dummy():
		return nil, keyError("the secret half of OpenPGP key %X is not there", chosen.PublicKey.Fingerprint)
	case secret.Encrypted && len(passphrase) == 0:
		return nil, keyError("the OpenPGP key has a passphrase and none is given")
	case secret.Encrypted && secret.Decrypt(passphrase) != nil:
		return nil, keyError("the passphrase of the OpenPGP key is wrong")
	}
	return pgpKey{entity, chosen}, nil
}

// unusable says why no part of the key may sign.
func unusable(entity *openpgp.Entity, now time.Time) error {
	self, identity := entity.PrimarySelfSignature()
	name := fmt.Sprintf("OpenPGP key %X", entity.PrimaryKey.Fingerprint)
	switch {
	case entity.Revoked(now):
		return keyError("%s is revoked", name)
	case self == nil:
		return keyError("%s has no valid signature of its own", name)
	case identity != nil && identity.Revoked(now):
		return keyError("the user of %s is revoked", name)
	case now.Before(entity.PrimaryKey.CreationTime):
		return keyError("%s is not valid yet", name)
	case entity.PrimaryKey.KeyExpired(self, now) || self.SigExpired(now):
		return keyError("%s ended on %s UTC", name, ending(entity.PrimaryKey, self).Format(time.DateTime))
	}
	return unusableSubkey(entity, name, now)
}

// unusableSubkey says why no subkey may sign where the primary key only certifies.
func unusableSubkey(entity *openpgp.Entity, name string, now time.Time) error {
	for _, sub := range entity.Subkeys {
		switch {
		case !sub.Sig.FlagsValid || !sub.Sig.FlagSign:
			continue
		case sub.Revoked(now):
			return keyError("the signing subkey of %s is revoked", name)
		case sub.PublicKey.KeyExpired(sub.Sig, now) || sub.Sig.SigExpired(now):
			return keyError("the signing subkey of %s is not valid now", name)
		}
	}
	return keyError("%s may not sign", name)
}

// ending is when a key or its binding is over, zero for never.
func ending(public *packet.PublicKey, sig *packet.Signature) time.Time {
	return sooner(after(public.CreationTime, sig.KeyLifetimeSecs), after(sig.CreationTime, sig.SigLifetimeSecs))
}

func after(from time.Time, seconds *uint32) time.Time {
	if seconds == nil || *seconds == 0 {
		return time.Time{}
	}
	return from.Add(time.Duration(*seconds) * time.Second).UTC()
}

// sooner is the earlier of two ends of which zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// pgpKey is an OpenPGP key and the part of it that signs.
type pgpKey struct {
	entity *openpgp.Entity
	chosen openpgp.Key
}

func (k pgpKey) sign(message []byte, now time.Time) (string, error) {
	config := &packet.Config{
		Time: func() time.Time { return now }, DefaultHash: crypto.SHA256, SigningKeyId: k.chosen.PublicKey.KeyId,
	}
	var out strings.Builder
	if err := openpgp.ArmoredDetachSign(&out, k.entity, bytes.NewReader(message), config); err != nil {
		return "", keyError("signing with the OpenPGP key: %w", err)
	}
	made := strings.TrimRight(out.String(), "\n") + "\n"
	ring := openpgp.EntityList{k.entity}
	if _, err := openpgp.CheckArmoredDetachedSignature(ring, bytes.NewReader(message), strings.NewReader(made), config); err != nil {
		return "", keyError("verifying what the OpenPGP key signed: %w", err)
	}
	return made, nil
}

func (k pgpKey) end() time.Time {
	self, _ := k.entity.PrimarySelfSignature()
	return sooner(ending(k.entity.PrimaryKey, self), ending(k.chosen.PublicKey, k.chosen.SelfSignature))
}

func (k pgpKey) public() string {
	text := fmt.Sprintf("OpenPGP %X", k.entity.PrimaryKey.Fingerprint)
	if identity := k.entity.PrimaryIdentity(); identity != nil {
		text += " " + strings.Join(strings.Fields(identity.Name), " ")
	}
	return text
}
