package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the schema")

func TestSchemaIsFresh(t *testing.T) {
	t.Chdir("..")
	for out, v := range kinds() {
		got, err := generate(out, v)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(out, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("go generate ./clusters makes another %s (-committed +generated):\n%s", out, diff)
		}
	}
}

func committed(t *testing.T, out string) *jsonschema.Schema {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", out))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := s.UnmarshalJSON(b); err != nil {
		t.Fatal(err)
	}
	return &s
}

// Every field of ours says whether it is required or what its default is, and where it comes from.
func TestFieldsAreDescribed(t *testing.T) {
	defs := map[string]*jsonschema.Schema{}
	for out := range kinds() {
		root := committed(t, out)
		defs[out] = root
		for name, def := range root.Definitions {
			if !strings.HasPrefix(name, "k8s.") {
				defs[name] = def
			}
		}
	}
	for name, def := range defs {
		if def.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for p := def.Properties.Oldest(); p != nil; p = p.Next() {
			text := p.Value.Description
			if !strings.Contains(text, "Required") && !strings.Contains(text, "Default") || !strings.Contains(text, "Source: ") {
				t.Errorf("%s.%s: %q lacks Required or Default, or Source", name, p.Key, text)
			}
		}
	}
}

// Load's walk knows a part of JSON Schema; nothing outside of it may be generated.
func TestSchemaStaysInsideWhatLoadKnows(t *testing.T) {
	for out := range kinds() {
		root := committed(t, out)
		known(t, root, "")
		for name, def := range root.Definitions {
			known(t, def, name)
		}
	}
}

func known(t *testing.T, s *jsonschema.Schema, at string) {
	c := *s
	formats := map[string]bool{"": true, "go-duration": true, "ini-scalar": true, "quantity": true, "int-or-string": true}
	types := map[string]bool{"object": true, "array": true, "string": true, "integer": true, "boolean": true}
	switch {
	case !formats[c.Format]:
		t.Errorf("%s: format %q", at, c.Format)
	case c.Ref == "" && c.AnyOf == nil && !types[c.Type]:
		t.Errorf("%s: type %q", at, c.Type)
	case c.AnyOf != nil && c.Format == "" || c.Pattern != "" && c.Format == "":
		t.Errorf("%s: anyOf or pattern without a format", at)
	}
	for p := c.Properties.Oldest(); c.Properties != nil && p != nil; p = p.Next() {
		known(t, p.Value, at+"."+p.Key)
	}
	if c.Items != nil {
		known(t, c.Items, at+"[]")
	}
	if c.AdditionalProperties != nil && !isFalse(c.AdditionalProperties) {
		known(t, c.AdditionalProperties, at+".*")
	}
	c.Version, c.ID, c.Title, c.Description, c.Definitions, c.Properties, c.Items, c.AdditionalProperties = "", "", "", "", nil, nil, nil, nil
	c.Ref, c.Type, c.Format, c.AnyOf, c.Pattern, c.Required, c.Enum, c.Minimum, c.Maximum, c.MinLength, c.Default = "", "", "", nil, "", nil, nil, "", "", nil, nil
	if b, _ := c.MarshalJSON(); string(b) != "true" {
		t.Errorf("%s: Load does not know %s", at, b)
	}
}

func isFalse(s *jsonschema.Schema) bool {
	b, _ := s.MarshalJSON()
	return string(b) == "false"
}

// Editors read the schema with validators of their own: they agree with Load about the good files.
func TestGoodFilesFollowTheSchema(t *testing.T) {
	cluster, fleet := compiled(t, "cluster.schema.json"), compiled(t, "fleet.schema.json")
	for pattern, s := range map[string]*validator.Schema{
		"../testdata/good/*.loaded": cluster, "../example/cluster.yaml": cluster, "../testdata/fleet/good/*.loaded": fleet,
	} {
		files, _ := filepath.Glob(pattern)
		if len(files) == 0 {
			t.Fatal(pattern)
		}
		for _, file := range files {
			validate(t, s, file, true)
		}
	}
	validate(t, fleet, "../testdata/fleet/bad/unknown-keys.yaml", false)
	for _, name := range []string{"unknown-keys", "wrong-types", "required", "not-a-mapping", "ranges"} {
		validate(t, cluster, "../testdata/bad/"+name+".yaml", false)
	}
}

func compiled(t *testing.T, out string) *validator.Schema {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", out))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource(out, doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile(out)
}

func validate(t *testing.T, s *validator.Schema, file string, good bool) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	j, err := yaml.YAMLToJSON(b)
	if err != nil {
		t.Fatal(err)
	}
	v, err := validator.UnmarshalJSON(bytes.NewReader(j))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); (err == nil) != good {
		t.Errorf("%s: %v", file, err)
	}
}
