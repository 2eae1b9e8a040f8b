// Package gitserver is a real Git server for tests: git's own http-backend behind net/http, and git's own
// upload-pack and receive-pack behind an SSH server, both on a loopback address.
//
// It needs git on the machine. What it adds to git is what a test wants to see or to break: every
// request is recorded with its bytes and its connection, may be delayed, answered otherwise or cut off; hooks are
// installed as the server's hooks, so what happens to a push is what git does.
//
// A [Server] holds bare repositories in one directory. [Server.ServeHTTP] is reached at [Server.HTTP],
// the SSH side at [Server.StartSSH].
package gitserver
