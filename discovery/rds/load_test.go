package rds

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/rds/rdsfake"
)

// Over real sockets, with the SDK's own way to find its configuration.
func TestLoadedConfigurationOverHTTP(t *testing.T) {
	api := rdsfake.New("eu-west-1")
	api.SetInstances(w1)
	server := httptest.NewServer(api)
	defer server.Close()
	bare(t)
	t.Setenv("AWS_ENDPOINT_URL_RDS", server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	e := NewRegion(load(t)).Cluster("PG", time.Minute) // identifiers have no case
	api.SetFaults(rdsfake.Faults{IgnoreFilters: true})
	if err := e.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]discovery.MetaInstance{metaW1}, e.Metadata().Instances); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	server.Close()
	_ = e.Fetch(t.Context())
	want := "unreachable: dial " + strings.TrimPrefix(server.URL, "http://") + ": connect: connection refused"
	if got := e.Metadata().Detail; got != want {
		t.Errorf("detail %q, want %q", got, want)
	}
}

func TestWithoutCredentials(t *testing.T) {
	hole, err := net.Listen("tcp", "127.0.0.1:0") // accepts, never answers
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	refuses := httptest.NewServer(http.NotFoundHandler())
	defer refuses.Close()
	tests := []struct{ name, imds, disabled, want string }{
		{"no instance metadata service", refuses.URL, "true", "access disabled to EC2 IMDS"},
		{"one that has no role", refuses.URL, "false", "request to EC2 IMDS failed"},
		{"one that never answers", "http://" + hole.Addr().String(), "false", "context deadline exceeded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := rdsfake.New("eu-west-1")
			bare(t)
			t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", tt.imds)
			t.Setenv("AWS_EC2_METADATA_DISABLED", tt.disabled)
			config := load(t)
			config.HTTPClient, config.BaseEndpoint = api.Config().HTTPClient, api.Config().BaseEndpoint
			region := NewRegion(config)
			region.timeout = 200 * time.Millisecond
			e := region.Cluster("pg", time.Minute)
			if err := e.Fetch(t.Context()); err == nil {
				t.Fatal("no error")
			}
			m := e.Metadata()
			if m.State != discovery.MetadataStale || !strings.HasPrefix(m.Detail, "no AWS credentials: ") {
				t.Errorf("%+v, want stale for want of credentials", m)
			}
			if !strings.Contains(m.Detail, tt.want) {
				t.Errorf("detail %q, want %q in it", m.Detail, tt.want)
			}
			if n := len(api.Calls()); n != 0 {
				t.Errorf("%d unsigned calls", n)
			}
		})
	}
}

func TestABadSharedFileIsAnErrorAtOnce(t *testing.T) {
	bare(t)
	t.Setenv("AWS_PROFILE", "missing")
	if _, err := Load(t.Context(), "eu-west-1"); err == nil {
		t.Error("no error for a profile that does not exist")
	}
}

// bare is an environment in which the SDK finds nothing.
func bare(t *testing.T) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_PROFILE": "", "AWS_DEFAULT_PROFILE": "",
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": "",
		"AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_ROLE_ARN": "",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "",
		"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_RDS": "", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
}

func load(t *testing.T) aws.Config {
	t.Helper()
	config, err := Load(t.Context(), "eu-west-1")
	if err != nil {
		t.Fatal(err)
	}
	return config
}
