package clusters

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// FleetKind is the kind of a Fleet file.
const FleetKind = "Fleet"

// Fleet is many clusters whose Cluster files are in the repository that they are published to.
type Fleet struct {
	// APIVersion is poolwright.dev/v1alpha1. Required. Source: poolwright.
	APIVersion string `json:"apiVersion" jsonschema:"enum=poolwright.dev/v1alpha1"`
	// Kind is Fleet. Required. Source: poolwright.
	Kind string `json:"kind" jsonschema:"enum=Fleet"`
	// Metadata names the fleet. Required. Source: poolwright.
	Metadata FleetMetadata `json:"metadata"`
	// Spec is what the fleet should be. Required. Source: poolwright.
	Spec FleetSpec `json:"spec"`
}

// FleetMetadata names the fleet.
type FleetMetadata struct {
	// Name of the fleet, for people. Required. Source: poolwright.
	Name string `json:"name" jsonschema:"minLength=1"`
}

// FleetSpec is what a person declares of a fleet.
type FleetSpec struct {
	// Publish is the repository, which the Cluster files are read from and every cluster is published to, and as whom. A Cluster file
	// may have an author and a committer of its own, and says none of the rest. Required. Source: poolwright.
	Publish PublishTo `json:"publish"`
	// Clusters is where the Cluster files are, as a path in the repository in which * and ? stand for names and ** for any directories:
	// clusters/*/cluster.yaml. Whoever can write there decides which credentials of this process are shown to which host.
	// Required. Source: poolwright.
	Clusters string `json:"clusters" jsonschema:"minLength=1"`
	// Hooks are the events that are listened to. Default none. Source: poolwright.
	Hooks Hooks `json:"hooks,omitzero"`
}

// Hooks are the events that are listened to over HTTP. What has no key is not listened to.
type Hooks struct {
	// Listen is the address, host:port or :port. Default none: nothing is listened to. Source: poolwright.
	Listen string `json:"listen,omitempty"`
	// GitHub is /hooks/github: the repository has changed. Default none. Source: poolwright.
	GitHub *GitHubHook `json:"github,omitempty"`
	// SNS is /hooks/sns: RDS has something to say. Default none. Source: poolwright.
	SNS *SNSHook `json:"sns,omitempty"`
	// CloudEvents is /hooks/cloudevents: EventBridge has. Default none. Source: poolwright.
	CloudEvents *CloudEventsHook `json:"cloudevents,omitempty"`
}

// GitHubHook says where the webhook's secret is: exactly one of secretEnv and secretFile.
type GitHubHook struct {
	// SecretEnv is the environment variable with the secret. Default none. Source: poolwright.
	SecretEnv string `json:"secretEnv,omitempty"`
	// SecretFile is the file with the secret. Default none. Source: poolwright.
	SecretFile string `json:"secretFile,omitempty"`
}

// SNSHook says whose notifications are taken. They are signed, so there is no secret.
type SNSHook struct {
	// Topics are the ARNs. Required. Source: poolwright.
	Topics []string `json:"topics"`
}

// CloudEventsHook says where the token is that the sender shows: exactly one of tokenEnv and tokenFile.
type CloudEventsHook struct {
	// TokenEnv is the environment variable with the token. Default none. Source: poolwright.
	TokenEnv string `json:"tokenEnv,omitempty"`
	// TokenFile is the file with the token. Default none. Source: poolwright.
	TokenFile string `json:"tokenFile,omitempty"`
}

// LoadFleet reads the bytes of a Fleet file as strictly as Load does a Cluster file, and fills every default.
// Everything that is wrong comes together as an Errors; then the Fleet is not to be used.
func LoadFleet(file string, data []byte) (Fleet, error) {
	r := newReport(file)
	f := r.loadFleet(data)
	if err := r.errors(); err != nil {
		return Fleet{}, err
	}
	derivePublishTo(&f.Spec.Publish)
	return f, nil
}

func (r *report) loadFleet(data []byte) (f Fleet) {
	n := r.parse(data)
	if n == nil {
		return f
	}
	tree := r.decode(n, fleetSchema())
	if tree == nil {
		return f
	}
	r.credentials(tree)
	fill(tree, fleetDefaults())
	if err := into(tree, &f); err != nil {
		r.add("", err.Error(), "", false)
		return Fleet{}
	}
	r.fleet(f)
	return f
}

// fleetDefaults are those of what a Fleet says for its clusters.
func fleetDefaults() []Default {
	return slices.DeleteFunc(Defaults(), func(d Default) bool {
		key, ok := strings.CutPrefix(d.Path, "spec.publish.")
		key, _, _ = strings.Cut(key, ".")
		return !ok || key != "author" && key != "branch" && key != "via"
	})
}

// Load reads a Cluster file of the fleet, file being its path in the repository. As Load it fills and checks all, and the fleet says
// where and as whom to publish: the file may name its repository and branch, no others, and no credentials for them. The path of what is
// published is the file's directory, unless it says another.
func (f Fleet) Load(file string, data []byte) (Cluster, error) {
	r := newReport(file)
	c := Cluster{}
	if n := r.parse(data); n != nil {
		c = r.check(n, func(tree map[string]any) { r.adopt(tree, f, file) })
	}
	if err := r.errors(); err != nil {
		return Cluster{}, err
	}
	derive(&c)
	return c, nil
}

// adopt completes spec.publish of a Cluster file by its fleet's.
func (r *report) adopt(tree map[string]any, f Fleet, file string) {
	const at = "spec.publish"
	own := mapping(mapping(tree, "spec"), "publish")
	for _, key := range []string{"auth", "forge", "signing"} {
		if r.given(at + "." + key) {
			r.wrong(at+"."+key, "is for the Fleet file to say", "take it out: whoever writes this file may not choose where the fleet's credentials go")
		}
		delete(own, key)
	}
	for key, theirs := range f.shared() {
		said, ok := own[key]
		switch isOne := key != "author" && key != "committer"; {
		case ok && isOne && said != theirs:
			r.wrong(at+"."+key, "is another than the Fleet file's", "take it out: a cluster is published where its fleet is")
			own[key] = theirs
		case !ok:
			own[key] = theirs
		}
	}
	if _, ok := own["path"]; ok {
		return
	}
	if own["path"] = path.Dir(file); own["path"] == "." {
		r.wrong(at+".path", "is required: the file is in the root of the repository", "the directory to publish to, such as clusters/example-pg")
		delete(own, "path")
	}
}

// shared is what the fleet says for its clusters, as keys of spec.publish.
func (f Fleet) shared() (m map[string]any) {
	b, err := json.Marshal(f.Spec.Publish)
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		panic("texts, numbers and mappings of them: " + err.Error())
	}
	return m
}

// mapping is the mapping of a key, which is made when it is missing.
func mapping(m map[string]any, key string) map[string]any {
	next, ok := m[key].(map[string]any)
	if !ok {
		next = map[string]any{}
		m[key] = next
	}
	return next
}
