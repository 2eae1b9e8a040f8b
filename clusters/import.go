package clusters

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	importGroup = "pgbouncer-aurora.io/"
	importKind  = "PgBouncerAurora"
)

// Import turns a PgBouncerAurora resource into the text of a Cluster file, with its comments. What is carried keeps its meaning;
// the notes list what is not, and what a person has to decide, in the order of the resource. Load takes the text as it is,
// but for what the notes ask: an image in the place of a placeholder such as <your-registry>/pgbouncer:1.25.2, and
// pgbouncerVersion where the image's tag does not tell it.
// What cannot be read, or has no meaning that could be carried, is an Errors with the lines of the resource.
func Import(data []byte) ([]byte, []string, error) {
	im := importer{report: newReport("")}
	if err := im.read(data); err != nil {
		return nil, nil, err
	}
	text, err := im.text()
	return text, im.list(), err
}

// read makes the tree of a Cluster file and its notes.
func (im *importer) read(data []byte) error {
	if n := im.parse(data); n != nil {
		im.root = im.resource(n)
	}
	if err := im.errors(); err != nil {
		return err
	}
	im.metadata()
	im.translate()
	return im.prune()
}

// importer turns the tree of a resource into the tree of a Cluster file, in place.
type importer struct {
	*report
	root    *yaml.Node
	cluster Cluster // what the tree says
	notes   []note
}

type note struct {
	line int
	text string
}

func (im *importer) note(line int, text string) { im.notes = append(im.notes, note{line, text}) }

// list is every note, by line; notes about no line come last.
func (im *importer) list() []string {
	last := func(n note) int { return cmp.Or(n.line, math.MaxInt) }
	slices.SortStableFunc(im.notes, func(a, b note) int { return cmp.Compare(last(a), last(b)) })
	var texts []string
	for _, n := range im.notes {
		if n.line > 0 {
			n.text = fmt.Sprintf("line %d: %s", n.line, n.text)
		}
		texts = append(texts, n.text)
	}
	return texts
}

// resource copies the tree without aliases, after checking what it is.
func (im *importer) resource(n *yaml.Node) *yaml.Node {
	im.places[""] = place{line: n.Line}
	d := decoder{report: im.report, root: fileSchema(), left: maxNodes}
	root := d.plain(n, "")
	if d.spent() {
		im.tooMany()
		return root
	}
	kind, version := child(root, "kind"), child(root, "apiVersion")
	if kind == nil || version == nil || kind.Value != importKind || !strings.HasPrefix(version.Value, importGroup) {
		im.add("", "is not a PgBouncerAurora resource", "one resource with kind PgBouncerAurora and apiVersion pgbouncer-aurora.io/v1alpha1", false)
		return root
	}
	kind.SetString(Kind)
	version.SetString(APIVersion)
	return root
}

// plain is a copy with aliases and merge keys written out, in block style.
func (d *decoder) plain(n *yaml.Node, at string) *yaml.Node {
	defer d.leave()
	if !d.enter() {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	if n.Kind == yaml.AliasNode {
		return d.plain(n.Alias, at)
	}
	c := *n
	c.Anchor, c.Content, c.Style = "", nil, n.Style&^yaml.FlowStyle
	switch n.Kind {
	case yaml.MappingNode:
		for _, e := range d.entries(n, at) {
			if d.spent() {
				break
			}
			where := join(at, e.key.Value)
			c.Content = append(c.Content, d.plain(e.key, where), d.plain(e.value, where))
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			if d.spent() {
				break
			}
			c.Content = append(c.Content, d.plain(item, fmt.Sprintf("%s[%d]", at, i)))
		}
	}
	return &c
}

// metadata keeps the names. The resource's own labels are about the resource; those of a Cluster file go to the generated objects.
func (im *importer) metadata() {
	im.leaveOut(im.root, "", "status", "it is what the operator has seen")
	meta := child(im.root, "metadata")
	if meta == nil || meta.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i < len(meta.Content); i += 2 {
		switch key := meta.Content[i].Value; key {
		case "name", "namespace":
			continue
		case "labels", "annotations":
			im.leaveOut(meta, "metadata", key, "these are the resource's own; metadata."+key+" of a Cluster file go to every generated object")
		default:
			im.leaveOut(meta, "metadata", key, "it belongs to the resource in the cluster")
		}
		i -= 2
	}
	if child(meta, "namespace") == nil {
		name := textNode("default")
		name.LineComment = "# the resource did not say"
		meta.Content = append(meta.Content, textNode("namespace"), name)
		im.note(meta.Line, "metadata.namespace: the resource does not say, default is written: check it")
	}
}

// leaveOut removes a key, if it is there, and notes why.
func (im *importer) leaveOut(m *yaml.Node, at, key, why string) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			im.note(m.Content[i].Line, join(at, key)+": not carried: "+why)
			m.Content = slices.Delete(m.Content, i, i+2)
			return
		}
	}
}

// translate moves the fields of older operators that have another place now.
func (im *importer) translate() {
	spec := child(im.root, "spec")
	policy := child(spec, "topologyPolicy")
	if fallback := child(policy, "readerEmptyFallback"); fallback != nil && child(policy, "readerFallback") == nil {
		value := "writer"
		if enabled := child(fallback, "enabled"); enabled != nil && enabled.Value == "false" {
			value = "none"
		}
		removeKey(policy, "readerEmptyFallback")
		policy.Content = append(policy.Content, textNode("readerFallback"), textNode(value))
	}
	discovery := child(spec, "discovery")
	if refresh := child(discovery, "metadataRefreshInterval"); refresh != nil && child(discovery, "rds") == nil {
		removeKey(discovery, "metadataRefreshInterval")
		rds := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{textNode("refreshInterval"), refresh}}
		discovery.Content = append(discovery.Content, textNode("rds"), rds)
	}
}

// prune leaves out what may be left out, until nothing of that kind is found, and returns what is wrong beyond that.
func (im *importer) prune() error {
	for {
		r := newReport("")
		im.cluster = r.check(im.root, func(map[string]any) {})
		if !im.drop(r) {
			im.report = r
			return im.judge()
		}
	}
}

func (im *importer) drop(r *report) bool {
	dropped := false
	for _, f := range r.findings {
		p, ok := r.places[f.Path]
		if !f.drop || !ok || p.parent == nil || !remove(p.parent, p.child) {
			continue
		}
		im.note(f.Line, f.Path+": not carried: "+f.Message)
		dropped = true
	}
	return dropped
}

// judge turns what only a person can know into notes.
func (im *importer) judge() error {
	im.findings = slices.DeleteFunc(im.findings, func(f finding) bool {
		theirs := f.Path == versionPath || f.Path == imagePath && f.Message == notImage
		if theirs {
			im.note(f.Line, f.Path+": "+f.Message+", "+f.Hint)
		}
		return theirs
	})
	im.note(0, "operator flags are not part of the resource: --aws-region is spec.discovery.rds.region, without which AWS is not asked")
	im.note(0, "spec.failover.console: without it the clients of a demoted instance are not cut off it; the operator restarts the pods")
	im.note(0, "spec.publish.repository: without it nothing is published")
	return im.errors()
}

const importHeader = `# Made from a PgBouncerAurora resource by poolwright import. For a person to decide:
#   spec.publish.repository: the Git repository that Argo CD or Flux applies; without it nothing is published
#   spec.discovery.rds.region: the operator's --aws-region; without it AWS is not asked
#   spec.failover.console: the poolers' administrator; without it the clients of a demoted instance are not cut off it`

func (im *importer) text() ([]byte, error) {
	doc := &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{im.root}, HeadComment: importHeader}
	for _, open := range [][2]string{{imagePath, "the image, which here has a placeholder"}, {versionPath, "the version of PgBouncer in the image"}} {
		if slices.ContainsFunc(im.notes, func(n note) bool { return strings.HasPrefix(n.text, open[0]+": ") }) {
			doc.HeadComment += "\n#   " + open[0] + ": " + open[1]
		}
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("writing the Cluster file: %w", err)
	}
	return b.Bytes(), enc.Close()
}

// child is the value of a key, or nil.
func child(m *yaml.Node, key string) *yaml.Node {
	if m == nil || m.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

func removeKey(m *yaml.Node, key string) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content = slices.Delete(m.Content, i, i+2)
			return
		}
	}
}

// remove takes a key with its value out of a mapping, or an item out of a list.
func remove(parent, child *yaml.Node) bool {
	i := slices.Index(parent.Content, child)
	if i < 0 {
		return false
	}
	step := 1
	if parent.Kind == yaml.MappingNode {
		step = 2
	}
	parent.Content = slices.Delete(parent.Content, i, i+step)
	return true
}

func textNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
