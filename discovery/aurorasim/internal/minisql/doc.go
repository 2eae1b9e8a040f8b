// Package minisql understands the few statements that a topology probe, a
// pooler or a person with psql sends to a simulated Aurora instance, and
// refuses all others with the SQLSTATE that PostgreSQL would give.
//
// The rules, in the order in which the code applies them:
//
//  1. lex: comments (-- and nested /* */) are white space; names fold to lower case
//     unless quoted; anything else that is not SQL is 42601.
//  2. parse: statements are separated by semicolons. A statement is a select, a
//     show, a set, a transaction command, or a write of which only the verb is
//     understood. All else is 42601.
//  3. Expressions are typed while they are parsed. A function, operator or cast
//     that is not in the tables of this package is 42883 (42846 for a cast), a
//     column 42703, a parameter $n 42P02. Nothing is guessed.
//  4. A select reads from nothing, or from aurora_replica_status(); it may be
//     filtered, ordered and limited.
//  5. NULL behaves as in SQL: strict functions and operators give NULL for
//     NULL, and/or are three-valued.
//
// The package knows no network and no clock: all it answers comes from an Env.
package minisql
