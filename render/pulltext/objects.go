package pulltext

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/poolwright/poolwright/render"
)

// object is one built Kubernetes object.
type object struct {
	kind, name string
	// instance is the label's value, "" for what belongs to the cluster.
	instance string
	content  map[string]any
}

// objects are those of one build, by kind and name. A name that ends with the hash of its content goes without.
type objects map[string]object

// readObjects takes a stream of YAML apart.
func readObjects(stream []byte) (objects, error) {
	found := objects{}
	dec := yaml.NewDecoder(bytes.NewReader(stream))
	for {
		var content map[string]any
		if err := dec.Decode(&content); err != nil {
			if errors.Is(err, io.EOF) {
				return found, nil
			}
			return nil, err
		}
		if o := newObject(content); o.kind != "" {
			found[o.kind+" "+o.name] = o
		}
	}
}

// contentHash ends the name of a generated ConfigMap.
var contentHash = regexp.MustCompile(`-[0-9a-z]{10}$`)

func newObject(content map[string]any) object {
	o := object{content: content}
	o.kind, _ = content["kind"].(string)
	o.name, _ = at(content, "metadata", "name").(string)
	o.instance, _ = at(content, "metadata", "labels", render.LabelInstance).(string)
	if o.kind == "ConfigMap" && o.instance != "" {
		o.name = contentHash.ReplaceAllString(o.name, "")
		metadata, _ := content["metadata"].(map[string]any)
		metadata["name"] = o.name
	}
	return o
}

// at is what stands below keys, nil when there is nothing.
func at(content any, keys ...string) any {
	for _, k := range keys {
		m, _ := content.(map[string]any)
		content = m[k]
	}
	return content
}

// instances are those that have an object, sorted.
func (all objects) instances() (names []string) {
	for _, o := range all {
		if o.instance != "" && !slices.Contains(names, o.instance) {
			names = append(names, o.instance)
		}
	}
	slices.Sort(names)
	return names
}

// of is the instance's object of that kind.
func (all objects) of(instance, kind string) (object, bool) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if o := all[key]; o.instance == render.LabelValue(instance) && o.kind == kind {
			return o, true
		}
	}
	return object{}, false
}

// verb is what becomes of an object.
type verb uint8

const (
	added verb = iota
	changed
	removed
)

// change is an object that comes, goes or differs.
type change struct {
	object
	verb verb
	// replacesPods is true for a Deployment that was there before and has another pod template.
	replacesPods bool
}

// compare is what differs, the cluster's own objects first.
func compare(old, now objects) (list []change) {
	all := maps.Clone(old)
	maps.Copy(all, now)
	for key, o := range all {
		before, had := old[key]
		switch _, has := now[key]; {
		case !had:
			list = append(list, change{object: o, verb: added})
		case !has:
			list = append(list, change{object: o, verb: removed})
		case !reflect.DeepEqual(before.content, o.content):
			pods := o.kind == "Deployment" && o.instance != "" &&
				!reflect.DeepEqual(at(before.content, "spec", "template"), at(o.content, "spec", "template"))
			list = append(list, change{object: o, verb: changed, replacesPods: pods})
		}
	}
	slices.SortFunc(list, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.instance, b.instance), cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
	return list
}

// tally counts changes by verb: "4 objects are added, 3 change, 1 is removed".
func tally(changes []change) markdown {
	var n [3]int
	for _, c := range changes {
		n[c.verb]++
	}
	var words []markdown
	for v, forms := range [...][2]markdown{added: {"is added", "are added"}, changed: {"changes", "change"}, removed: {"is removed", "are removed"}} {
		form := forms[min(n[v], 2)/2]
		switch {
		case n[v] == 0:
		case len(words) == 0:
			words = append(words, counted(n[v], "object")+" "+form)
		default:
			words = append(words, say("%d %s", n[v], form))
		}
	}
	if len(words) == 0 {
		return "No object changes"
	}
	return joinedBy(words, ", ")
}

// resources is a table of what is added, changed and removed, for the cluster and for each instance.
func (p *paper) resources() []block {
	if !p.built() {
		return nil
	}
	b := table(7_000, "%d more rows of objects", []markdown{"Of", "Added", "Changed", "Removed"}, p.resourceRows())
	if len(b.lines) == 0 {
		return []block{heading("Objects"), paragraph("No object changes: comments, or the layout of a file.")}
	}
	return []block{
		heading("Objects"),
		paragraph(tally(p.changes) + ", as built by kustomize. A ConfigMap with another hash in its name counts as the same one."),
		b,
	}
}

func (p *paper) resourceRows() (rows [][]markdown) {
	var owners []string
	for _, c := range p.changes {
		if !slices.Contains(owners, c.instance) {
			owners = append(owners, c.instance)
		}
	}
	for _, owner := range owners {
		title := markdown("the cluster")
		if owner != "" {
			title = span(owner)
		}
		row := []markdown{title}
		for _, v := range []verb{added, changed, removed} {
			row = append(row, p.kinds(owner, v))
		}
		rows = append(rows, row)
	}
	return rows
}

// kinds names what becomes of one owner's objects.
func (p *paper) kinds(owner string, v verb) markdown {
	var words []markdown
	for _, c := range p.changes {
		if c.instance != owner || c.verb != v {
			continue
		}
		word := say("%s", c.kind)
		if owner == "" {
			word += " " + span(c.name)
		}
		if c.replacesPods {
			word += " (pods replaced)"
		}
		words = append(words, word)
	}
	return orDash(joinedBy(words, ", "))
}

func orDash(m markdown) markdown {
	if strings.TrimSpace(string(m)) == "" {
		return "–"
	}
	return m
}
