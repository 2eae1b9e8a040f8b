// Package build builds drawn trees with kustomize, in memory, and checks what comes out.
//
// The rules, in order:
//
//  1. A build reads the cluster directory and nothing else. An entry that leads to no file in it, a URL
//     among them, is refused by name; so are charts, plugins, and a schema of the tree's own.
//  2. Builds are serialised by the Builder that a process holds: kustomize keeps its schema in package
//     variables. The built-in schema is loaded before the first build.
//  3. A panic in kustomize is an error.
//  4. Check holds a committed directory against its declaration, file by file, then against the promises
//     of the package render, object by object. It needs no database, no Kubernetes and no Git.
//
// Findings are values: what is wrong, where, and what to do about it.
package build
