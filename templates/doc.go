// Package templates is the text that poolwright writes: manifests and commit messages.
//
// The files are plain text/template with range, if and with, and no logic beyond that: every
// decision has been made in the values handed to them. Three functions come from the caller:
//
//	str   a YAML scalar that reads back as the same string, quoted only when it must be
//	quote a YAML scalar that is always quoted: label and annotation values
//	yaml  a value as an indented YAML block on the lines that follow
package templates
