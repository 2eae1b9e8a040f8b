package clusters

import (
	_ "embed"
	"encoding/json"
	"strings"
	"sync"
)

//go:generate go run ./schemagen

//go:embed cluster.schema.json
var schemaText []byte

//go:embed fleet.schema.json
var fleetSchemaText []byte

// fileSchema is the parsed schema of a Cluster file, fleetSchema that of a Fleet file.
var (
	fileSchema  = sync.OnceValue(func() *schema { return parseSchema(schemaText) })
	fleetSchema = sync.OnceValue(func() *schema { return parseSchema(fleetSchemaText) })
)

// schema is the part of JSON Schema that schemagen writes.
type schema struct {
	Ref        string             `json:"$ref"`
	Defs       map[string]*schema `json:"$defs"`
	Type       string             `json:"type"`
	Format     string             `json:"format"`
	Properties map[string]*schema `json:"properties"`
	Additional *additional        `json:"additionalProperties"`
	Items      *schema            `json:"items"`
	Required   []string           `json:"required"`
	Enum       []string           `json:"enum"`
	Minimum    *int64             `json:"minimum"`
	Maximum    *int64             `json:"maximum"`
	MinLength  int                `json:"minLength"`

	kubernetes bool // a Kubernetes type: kept as written
}

// additional is the schema of the keys without a name of their own; none for false.
type additional struct{ *schema }

func (a *additional) UnmarshalJSON(b []byte) error {
	if string(b) == "false" {
		return nil
	}
	return json.Unmarshal(b, &a.schema)
}

func parseSchema(text []byte) *schema {
	var s schema
	if err := json.Unmarshal(text, &s); err != nil {
		panic("the embedded schema: " + err.Error()) // a test loads it
	}
	for name, def := range s.Defs {
		def.kubernetes = strings.HasPrefix(name, "k8s.")
	}
	return &s
}

// follow resolves a reference.
func (s *schema) follow(root *schema) *schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		return root.Defs[name]
	}
	return s
}

// child is the schema of a key, or nil for a key that has no place here.
func (s *schema) child(key string) *schema {
	if c := s.Properties[key]; c != nil {
		return c
	}
	if s.Additional != nil {
		return s.Additional.schema
	}
	return nil
}
