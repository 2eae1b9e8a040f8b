// Package clusters is what a person declares: the Cluster file. It is a superset of the PgBouncerAurora resource of
// pgbouncer-aurora-operator: every field of its spec has the same name, default and meaning here; cluster.schema.json
// describes them all.
//
// Load turns the bytes of a file into a Cluster on which nobody has to look up a default. Its rules, in the order in which
// they apply:
//
//  1. A file has at most 1 MiB and is one YAML document.
//  2. The document is walked along the JSON Schema, which schemagen makes from the types of this package and of Kubernetes. An
//     unknown key, a key given twice, a value of another type, out of range or none of the allowed words is a problem with its
//     line, its path and, for a key or a word, the nearest valid one. Kubernetes pieces (Object) are checked as strictly, but
//     kept as they are.
//  3. Aliases and merge keys count like what they stand for; a document that grows beyond 50,000 nodes or 100 levels is refused.
//  4. An empty mapping, list or text is the same as no key, and a key of an object or list without a value the same as an empty
//     one. A scalar without a value is a problem. Numbers of pgbouncer.ini keep their digits, true is 1 and false 0; numbers
//     that YAML readers disagree about (octal, exponents, separators) are refused.
//  5. Nothing in the file may be a credential, since all of it goes to Git: passwords by key or by shape, password verifiers,
//     lines of userlist.txt, private keys, URLs with a password, flags of a command line that take one.
//     References ($NAME, $(NAME)) are fine. No message repeats a value.
//  6. Constant defaults are filled in from one table (Defaults).
//  7. What the schema cannot say is validated: Kubernetes names, the one source of credentials, what belongs to which provider,
//     hosts that are one server, keys and entries of pgbouncer.ini (no newline, no host or port in [databases], no global setting
//     in an override) and the directories of its files, containers, volumes and images of the pod, the version of PgBouncer, times
//     that have to fit into each other (drain into the grace period, query_wait_timeout below clientTimeout), logins that TLS cannot
//     bring about, the repository, its branch and directory, the forge and what needs one, keys to sign with. Nothing that depends on the
//     file alone is left for the drawing to find.
//  8. Everything that is wrong is reported together, sorted by line. Only a file without problems gives a Cluster.
//  9. Defaults that follow from other fields are derived, and intervals below their floor are raised to it.
//
// LoadFleet reads a Fleet file by rules 1 to 9: the repository that holds many Cluster files, as whom it is read and written, and which
// events are listened to. Fleet.Load reads one of these Cluster files by the same rules, and before rule 6 completes spec.publish by the
// Fleet's. Such a file may choose neither another place nor credentials: whoever writes it is not always who runs poolwright.
//
// Domain names are opaque: no region, partition or provider is ever read from one.
//
// Import turns a PgBouncerAurora resource into the text of a Cluster file by the same walk: what Load would call unknown or
// refuse is left out and listed.
//
// The package does no IO and knows no logger, clock or network; it does not import the Kubernetes API, which the schema stands for.
package clusters
