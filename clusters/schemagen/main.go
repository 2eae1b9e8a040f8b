// Command schemagen writes the JSON Schemas of the Cluster file and of the Fleet file, for editors and for Load. It reads the Go types of
// clusters with their doc comments, and the Kubernetes types of the pod fields, which clusters itself must not import.
// Run it in the clusters directory: go generate.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/poolwright/poolwright/clusters"
)

const module = "github.com/poolwright/poolwright/clusters"

// kinds are the files that a person writes, by the name of their schema.
func kinds() map[string]any {
	return map[string]any{"cluster.schema.json": clusters.Cluster{}, "fleet.schema.json": clusters.Fleet{}}
}

func main() {
	for name, v := range kinds() {
		b, err := generate(name, v)
		if err == nil {
			err = os.WriteFile(name, b, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "schemagen:", err)
			os.Exit(1)
		}
	}
}

// generate runs in the clusters directory, for its doc comments.
func generate(name string, v any) ([]byte, error) {
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, Mapper: ownType}
	if err := r.AddGoComments(module, ".", jsonschema.WithFullComment()); err != nil {
		return nil, err
	}
	s := r.Reflect(v)
	s.ID, s.Title = jsonschema.ID("https://poolwright.dev/schemas/"+name), "poolwright "+reflect.TypeOf(v).Name()+" file"
	if err := addKubernetes(s); err != nil {
		return nil, err
	}
	addDefaults(s)
	unwrap(s)
	return marshal(s)
}

// ownType maps the types that read more than their Go kind says. The formats are this project's own: Load knows them.
func ownType(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[clusters.Duration]():
		return &jsonschema.Schema{Type: "string", Format: "go-duration", Pattern: `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`}
	case reflect.TypeFor[clusters.Scalar]():
		return oneOfTypes("ini-scalar", "string", "number", "boolean")
	case reflect.TypeFor[clusters.Object]():
		return &jsonschema.Schema{Type: "object", Format: "kubernetes"}
	}
	return nil
}

func oneOfTypes(format string, types ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{Format: format}
	for _, t := range types {
		s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Type: t})
	}
	return s
}

// podFields are the Kubernetes types behind clusters.Object, by the name of the property of PgBouncer.
func podFields() map[string]any {
	return map[string]any{
		"affinity":                  corev1.Affinity{},
		"containerSecurityContext":  corev1.SecurityContext{},
		"livenessProbe":             corev1.Probe{},
		"podSecurityContext":        corev1.PodSecurityContext{},
		"readinessProbe":            corev1.Probe{},
		"resources":                 corev1.ResourceRequirements{},
		"sidecars":                  corev1.Container{},
		"tolerations":               corev1.Toleration{},
		"topologySpreadConstraints": corev1.TopologySpreadConstraint{},
		"volumeMounts":              corev1.VolumeMount{},
		"volumes":                   corev1.Volume{},
	}
}

// addKubernetes replaces every place of a clusters.Object by the Kubernetes type it stands for.
func addKubernetes(s *jsonschema.Schema) error {
	types := podFields()
	pod := s.Definitions["PgBouncer"]
	if pod == nil {
		return nil // a Fleet has no pods
	}
	props := pod.Properties
	for p := props.Oldest(); p != nil; p = p.Next() {
		field, isList := p.Value, p.Value.Items != nil
		if isList {
			field = field.Items
		}
		if field.Format != "kubernetes" {
			continue
		}
		v, ok := types[p.Key]
		if !ok {
			return fmt.Errorf("property %s of PgBouncer is an Object, but podFields does not say of which type", p.Key)
		}
		ref := &jsonschema.Schema{Ref: "#/$defs/" + reflectKubernetes(s.Definitions, v)}
		if isList {
			p.Value.Items = ref
			continue
		}
		ref.Description = p.Value.Description
		p.Value = ref
	}
	return nil
}

// reflectKubernetes adds v's type and all it needs to the definitions and returns its name there.
func reflectKubernetes(defs jsonschema.Definitions, v any) string {
	r := &jsonschema.Reflector{Anonymous: true, Namer: kubernetesName, Mapper: kubernetesType}
	for name, def := range r.Reflect(v).Definitions {
		def.Description = "Kubernetes type " + strings.TrimPrefix(name, "k8s.") + "; see the Kubernetes API reference."
		defs[name] = def
	}
	for name, key := range optionalAnyway() {
		if def := defs["k8s.core.v1."+name]; def != nil {
			def.Required = slices.DeleteFunc(def.Required, func(k string) bool { return k == key })
		}
	}
	return kubernetesName(reflect.TypeOf(v))
}

// optionalAnyway are the fields that the API does not require although their JSON tags lack omitempty.
func optionalAnyway() map[string]string {
	return map[string]string{
		"GRPCAction":                "service",
		"ProjectedVolumeSource":     "sources",
		"TypedLocalObjectReference": "apiGroup",
		"TypedObjectReference":      "apiGroup",
	}
}

// kubernetesName is k8s.core.v1.Probe for k8s.io/api/core/v1.Probe.
func kubernetesName(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	if len(parts) < 3 || parts[0] != "k8s.io" {
		return ""
	}
	return "k8s." + strings.Join(parts[len(parts)-2:], ".") + "." + t.Name()
}

func kubernetesType(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return oneOfTypes("quantity", "string", "number")
	case reflect.TypeFor[intstr.IntOrString]():
		return oneOfTypes("int-or-string", "integer", "string")
	case reflect.TypeFor[metav1.Time]():
		return &jsonschema.Schema{Type: "string"}
	case reflect.TypeFor[metav1.FieldsV1]():
		return &jsonschema.Schema{Type: "object", AdditionalProperties: jsonschema.FalseSchema}
	}
	return nil
}

// addDefaults writes the table of defaults into the definitions; a definition that is used with two defaults shows none.
func addDefaults(s *jsonschema.Schema) {
	clash := map[*jsonschema.Schema]bool{}
	for _, d := range clusters.Defaults() {
		p := property(s, strings.Split(d.Path, "."))
		if p == nil {
			continue // a key of an ini section
		}
		if p.Default != nil && p.Default != d.Value {
			clash[p] = true
		}
		p.Default = d.Value
	}
	for p := range clash {
		p.Default = nil
	}
}

// property finds the schema of a dotted path.
func property(root *jsonschema.Schema, path []string) *jsonschema.Schema {
	s := root
	for _, key := range path {
		if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
			s = root.Definitions[name]
		}
		if s.Properties == nil {
			return nil
		}
		next, ok := s.Properties.Get(key)
		if !ok {
			return nil
		}
		s = next
	}
	return s
}

// unwrap puts every description on one line.
func unwrap(s *jsonschema.Schema) {
	s.Description = strings.ReplaceAll(s.Description, "\n", " ")
	if s.Properties != nil {
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			unwrap(p.Value)
		}
	}
	for _, def := range s.Definitions {
		unwrap(def)
	}
}

func marshal(s *jsonschema.Schema) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(s)
	return b.Bytes(), err
}
