package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

//go:embed page.html.tmpl
var pageText string

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "prpreview:", err)
		os.Exit(1)
	}
}

// run writes the page and prints its path.
func run(args []string, out io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("reading the command line: want DIR and FILE, got %d arguments", len(args))
	}
	all, err := readAll(args[0])
	if err != nil {
		return err
	}
	html, err := page(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(args[1]), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(args[1], html, 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, args[1])
	return err
}

// description is one golden file: its first line is the title.
type description struct {
	Name, Title string
	Bytes       int
	Body        []byte
}

// HTML is the body as a page has it.
func (d description) HTML() (template.HTML, error) {
	text, err := rendered(d.Body)
	return template.HTML(text), err //nolint:gosec // it is the point of a preview to show what the Markdown makes
}

// readAll reads the golden files of dir, sorted by name.
func readAll(dir string) ([]description, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("reading %s: no description in it", dir)
	}
	var all []description
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		title, body, _ := strings.Cut(string(data), "\n")
		all = append(all, description{
			Name: strings.TrimSuffix(filepath.Base(f), ".md"), Title: strings.TrimPrefix(title, "# "), Bytes: len(body), Body: []byte(body),
		})
	}
	return all, nil
}

// markdown is GitHub's dialect, as far as the library has it.
func markdown() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithHardWraps(), html.WithUnsafe()))
}

// alert is a quote that begins with a word in brackets, which GitHub draws as a box.
var alert = regexp.MustCompile(`<blockquote>\n<p>\[!([A-Z]+)\]<br>\n`)

func rendered(body []byte) (string, error) {
	var b bytes.Buffer
	if err := markdown().Convert(body, &b); err != nil {
		return "", err
	}
	return alert.ReplaceAllString(b.String(), `<blockquote class="alert"><p><b class="kind">$1</b><br>`), nil
}

func page(all []description) ([]byte, error) {
	var b bytes.Buffer
	t, err := template.New("page").Parse(pageText)
	if err == nil {
		err = t.Execute(&b, all)
	}
	return b.Bytes(), err
}
