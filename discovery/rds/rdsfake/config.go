package rdsfake

import (
	"context"
	"net/http"
	"net/http/httptest"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Config is a client's configuration: requests are handed to the Server in
// memory, and signed with credentials that mean nothing.
func (s *Server) Config() aws.Config {
	return aws.Config{
		Region:       s.region,
		BaseEndpoint: aws.String("http://rds.test"),
		HTTPClient:   &http.Client{Transport: transport{s}},
		Credentials:  testKeys{},
	}
}

// transport answers on the goroutine that asks, with no socket in between.
type transport struct{ handler http.Handler }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	t.handler.ServeHTTP(recorder, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return recorder.Result(), nil
}

type testKeys struct{}

func (testKeys) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret", Source: "rdsfake"}, nil
}
