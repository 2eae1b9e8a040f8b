package clusters

import "errors"

var errTODO = errors.New("not built yet")

// Load reads a Cluster file's bytes: strict, then defaults, then validation. file is only for messages.
// The error is a *Errors or a plain error.
func Load(file string, data []byte) (Cluster, error) { return Cluster{}, errTODO }
