// Package cmd is the command line: the grammar, the loop, and the one place
// where signals, clocks and clients are made. It decides nothing about roles.
//
// # Rules
//
//  1. Main parses, runs one verb and turns what came of it into an exit code.
//     No verb calls os.Exit.
//  2. Results go to standard output: text for people, -o json or yaml for
//     machines. Notes and errors go to standard error.
//  3. An error is one line, "poolwright: <what was being done>: <cause>", and
//     where one thing is certain to help a second line, "hint: <what to type>".
//  4. Exit codes: 0 fine, 1 differs or findings, 2 usage and unusable input,
//     3 untrusted topology, 4 refused until a person acts, 5 unreachable.
//  5. The same input gives the same output, to the byte: no clock, no
//     environment, no order of a map. A verb that judges a snapshot takes the
//     snapshot's own time for now.
//  6. A verb that cannot finish changes nothing: everything is drawn, and written
//     beside its place, before the first file is replaced. Only renaming and
//     deleting come after that; the same command typed again completes them.
//  7. What a database or a snapshot said is escaped in text for people: no control
//     characters, no marks of writing direction.
package cmd
