// Command prpreview renders the golden descriptions of pull requests (render/pulltext/testdata) into one HTML page, so that a person
// can look at them as a forge would show them:
//
//	prpreview DIR FILE.html
//
// It is a module of its own: the Markdown library is for looking and for tests, and does not enter the product's go.mod.
// Line ends break lines, as in descriptions and comments on GitHub; raw HTML goes through, so that what leaks is seen.
package main
