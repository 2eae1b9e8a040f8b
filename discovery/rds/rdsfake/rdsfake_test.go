package rdsfake

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/rds"
	"github.com/aws/aws-sdk-go-v2/service/rds/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

var fleet = []Instance{
	{ID: "pg-1", Cluster: "pg", Resource: "db-A", Zone: "eu-west-1a", Class: "db.r6g.large", Writer: true},
	{ID: "pg-2", Cluster: "pg", Resource: "db-B", Zone: "eu-west-1b", Class: "db.r6g.large", Status: "deleting"},
	{ID: "other-1", Cluster: "other", Writer: true},
	{ID: "pg-3", Cluster: "pg", Unlisted: true},
	{ID: "pg-4", Cluster: "pg", Undescribed: true},
}

func client(s *Server) *sdk.Client {
	return sdk.NewFromConfig(s.Config(), func(o *sdk.Options) { o.Retryer = aws.NopRetryer{} })
}

func inCluster(name string) []types.Filter {
	return []types.Filter{{Name: aws.String("db-cluster-id"), Values: []string{name}}}
}

func TestTheSDKUnderstandsBothAnswers(t *testing.T) {
	s := New("eu-west-1")
	s.SetInstances(fleet...)
	clusters, err := client(s).DescribeDBClusters(t.Context(), &sdk.DescribeDBClustersInput{Filters: inCluster("pg")})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, c := range clusters.DBClusters {
		for _, m := range c.DBClusterMembers {
			got = append(got, *c.DBClusterIdentifier+" "+*m.DBInstanceIdentifier+role(*m.IsClusterWriter))
		}
	}
	if diff := cmp.Diff([]string{"pg pg-1 writer", "pg pg-2", "pg pg-4"}, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}

	instances, err := client(s).DescribeDBInstances(t.Context(), &sdk.DescribeDBInstancesInput{Filters: inCluster("pg")})
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, i := range instances.DBInstances {
		got = append(got, strings.Join([]string{*i.DBInstanceIdentifier, *i.DBClusterIdentifier, *i.DBInstanceStatus, aws.ToString(i.AvailabilityZone), aws.ToString(i.DBInstanceClass), aws.ToString(i.DbiResourceId)}, " "))
	}
	want := []string{"pg-1 pg available eu-west-1a db.r6g.large db-A", "pg-2 pg deleting eu-west-1b db.r6g.large db-B", "pg-3 pg available   "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	if r := s.Refusals(); len(r) != 0 {
		t.Errorf("refused: %q", r)
	}
}

func role(writer bool) string {
	if writer {
		return " writer"
	}
	return ""
}

func TestPages(t *testing.T) {
	s := New("eu-west-1")
	s.SetInstances(fleet...)
	s.SetPageSize(2)
	pages := sdk.NewDescribeDBInstancesPaginator(client(s), &sdk.DescribeDBInstancesInput{})
	var got []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page.DBInstances {
			got = append(got, *i.DBInstanceIdentifier)
		}
		got = append(got, "|")
	}
	if diff := cmp.Diff([]string{"pg-1", "pg-2", "|", "other-1", "pg-3", "|"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(s.Calls()); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

func TestStrangeRequestsAreRefusedAndRecorded(t *testing.T) {
	const signed = "AWS4-HMAC-SHA256 Credential=X/20260101/eu-west-1/rds/aws4_request, SignedHeaders=host, Signature=0"
	const plain = "Action=DescribeDBInstances&Version=2014-10-31"
	tests := []struct{ name, path, form, signature, want string }{
		{"another action", "/", "Action=DeleteDBInstance&Version=2014-10-31", signed, "parameter Action"},
		{"another version", "/", "Action=DescribeDBInstances&Version=2013-01-01", signed, "parameter Version"},
		{"no action", "/", "Version=2014-10-31", signed, "no Action"},
		{"an unknown parameter", "/", plain + "&DBInstanceIdentifier=x", signed, "parameter DBInstanceIdentifier"},
		{"an unknown filter", "/", plain + "&Filters.Filter.1.Name=engine", signed, "parameter Filters.Filter.1.Name"},
		{"a parameter twice", "/", plain + "&MaxRecords=20&MaxRecords=20", signed, "2 times"},
		{"pages too large", "/", plain + "&MaxRecords=101", signed, "20..100"},
		{"pages that are no number", "/", plain + "&MaxRecords=x", signed, "parameter MaxRecords"},
		{"an invented marker", "/", plain + "&Marker=x", signed, "parameter Marker"},
		{"a marker before the beginning", "/", plain + "&Marker=DescribeDBInstances:-1", signed, "negative"},
		{"a marker of the other action", "/", plain + "&Marker=DescribeDBClusters:1", signed, "not of DescribeDBInstances"},
		{"a marker beyond the end", "/", plain + "&Marker=DescribeDBInstances:99", signed, "beyond the end"},
		{"no signature", "/", plain, "", "not signed"},
		{"another region's signature", "/", plain, strings.Replace(signed, "eu-west-1", "us-east-1", 1), "not signed"},
		{"another path", "/x", plain, signed, "want POST /"},
		{"an unreadable form", "/", "%zz", signed, "reading the form"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New("eu-west-1")
			server := httptest.NewServer(s)
			defer server.Close()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+tt.path, strings.NewReader(tt.form))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Authorization", tt.signature)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), tt.want) {
				t.Errorf("answer %d %s, want 400 with %q", res.StatusCode, body, tt.want)
			}
			if r := s.Refusals(); len(r) != 1 || !strings.Contains(r[0], tt.want) {
				t.Errorf("recorded %q, want one with %q", r, tt.want)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	tests := []struct {
		name   string
		faults Faults
		want   string
	}{
		{"throttled", Throttled(), "Throttling"},
		{"denied", Denied(), "AccessDenied"},
		{"down", Faults{Code: "ServiceUnavailable", Status: 503}, "ServiceUnavailable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New("eu-west-1")
			s.SetFaults(tt.faults)
			_, err := client(s).DescribeDBInstances(t.Context(), &sdk.DescribeDBInstancesInput{})
			var api smithy.APIError
			if !errors.As(err, &api) || api.ErrorCode() != tt.want {
				t.Errorf("error %v, want code %s", err, tt.want)
			}
		})
	}
}

func TestSlowAnswersAndNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New("eu-west-1")
		s.SetFaults(Faults{Delay: 4 * time.Second})
		began := time.Now()
		if _, err := client(s).DescribeDBInstances(t.Context(), &sdk.DescribeDBInstancesInput{}); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("answer after %s, want 4s", took)
		}

		s.SetFaults(Faults{Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := client(s).DescribeDBInstances(ctx, &sdk.DescribeDBInstancesInput{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the deadline", err)
		}
	})
}

func TestMarkersWithoutEnd(t *testing.T) {
	for _, f := range []Faults{{EndlessMarkers: true}, {RepeatedMarker: true}} {
		s := New("eu-west-1")
		s.SetFaults(f)
		var marker *string
		seen := map[string]bool{}
		for range 5 {
			out, err := client(s).DescribeDBInstances(t.Context(), &sdk.DescribeDBInstancesInput{Marker: marker})
			if err != nil {
				t.Fatal(err)
			}
			if marker = out.Marker; aws.ToString(marker) == "" {
				t.Fatal("the list came to its end")
			}
			seen[*marker] = true
		}
		if f.RepeatedMarker != (len(seen) == 1) {
			t.Errorf("%+v gave %d different markers", f, len(seen))
		}
	}
}

// No request, however strange, brings the fake down.
func FuzzQuery(f *testing.F) {
	f.Add("Action=DescribeDBInstances&Version=2014-10-31&MaxRecords=20&Marker=DescribeDBInstances:1")
	f.Add("Action=DescribeDBClusters&Version=2014-10-31&Filters.Filter.1.Name=db-cluster-id&Filters.Filter.1.Values.Value.1=pg")
	f.Fuzz(func(t *testing.T, form string) {
		values, err := url.ParseQuery(form)
		if err != nil {
			return
		}
		q, err := parse(values)
		if err != nil {
			return
		}
		s := New("eu-west-1")
		s.SetInstances(fleet...)
		_, _ = s.answer(q, Faults{})
	})
}
