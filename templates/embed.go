package templates

import (
	"embed"
	"text/template"
)

//go:embed *.tmpl
var files embed.FS

// Parse returns all templates by file name. It panics when a function that they use is missing:
// the texts are part of the program.
func Parse(funcs template.FuncMap) *template.Template {
	return template.Must(template.New("").Option("missingkey=error").Funcs(funcs).ParseFS(files, "*.tmpl"))
}
