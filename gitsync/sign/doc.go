// Package sign signs commits, so that a branch which requires signatures takes them.
//
//	signer := sign.SSH(sign.SSHOptions{Key: readKey, Now: time.Now})
//	armored, err := signer.Sign(ctx, commit) // the value of the commit's gpgsig header
//
// # Rules, in the order in which they apply
//
//  1. Key, and for SSH the certificate, are read on each use: one that is rotated works at the next commit.
//  2. A key that is missing, cannot be read, needs a passphrase that was not given, is not one key but several, is public only,
//     may not sign, is revoked or not valid now is an [ErrKey]. Nothing is signed by a key that a forge would call unverified.
//  3. An SSH signature is an SSHSIG in the namespace "git" over SHA-512 (OpenSSH's PROTOCOL.sshsig); an RSA key signs with
//     rsa-sha2-512. With a certificate the signature carries the certificate in the key's place.
//  4. An OpenPGP signature is a detached binary one, by the newest subkey that may sign, else by the primary key. Its time is
//     Now's.
//  5. What was signed is verified with the public half before it is handed out: a key file whose halves do not belong together
//     is an [ErrKey] too.
//  6. Check does all of that on a commit of its own and says besides whether the key ends within two weeks.
//
// No error contains anything of the key or of the passphrase.
package sign
