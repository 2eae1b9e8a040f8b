// Command poolwright keeps PgBouncer in front of Aurora PostgreSQL pointing at
// the right instances, through Git.
package main

import (
	"os"

	"github.com/poolwright/poolwright/cmd"
)

func main() { os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
