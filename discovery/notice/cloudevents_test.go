package notice

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func holds(secrets ...string) func(context.Context) ([][]byte, error) {
	return func(context.Context) (all [][]byte, _ error) {
		for _, s := range secrets {
			all = append(all, []byte(s))
		}
		return all, nil
	}
}

func attend(change ...func(*CloudEventsOptions)) *ear {
	e := &ear{}
	o := CloudEventsOptions{Options: e.options(), Secrets: holds(secret)}
	for _, c := range change {
		c(&o)
	}
	e.Handler = CloudEvents(o)
	return e
}

var bearer = []string{"Authorization", "Bearer " + secret}

// structure is a CloudEvent in structured mode, with what else it has.
func structure(more string) string {
	return `{"specversion":"1.0","type":"aws.rds","source":"aws.rds","id":"1","time":"2024-03-01T11:59:59Z"` + more + `}`
}

// in are the headers of binary mode.
func in(more ...string) []string {
	return append([]string{
		"Content-Type", "application/json", "ce-specversion", "1.0", "ce-type", "aws.rds", "ce-source", "aws.rds", "ce-id", "1", "ce-time", "2024-03-01T11:59:59Z",
	}, more...)
}

const whole = "application/cloudevents+json; charset=utf-8"

var (
	crossed  = detailOf("CLUSTER", clusterARN, "example-pg", "RDS-EVENT-0073", "failover")
	crossing = something(Cluster, "example-pg", "eu-west-1", "RDS-EVENT-0073", Failover)
	wrapped  = bridge("RDS DB Cluster Event", crossed)
)

func TestCloudEventsAreHeard(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		header []string
	}{
		"as EventBridge sends them":              {wrapped, []string{"Content-Type", "application/json"}},
		"as EventBridge sends them, in UTF-8":    {wrapped, []string{"Content-Type", "application/json; charset=utf-8"}},
		"structured, around EventBridge's event": {structure(`,"data":` + wrapped), []string{"Content-Type", whole}},
		"structured, around its detail":          {structure(`,"datacontenttype":"application/json","data":` + crossed), []string{"Content-Type", whole}},
		"structured, in base64":                  {structure(`,"data_base64":"` + base64.StdEncoding.EncodeToString([]byte(crossed)) + `"`), []string{"Content-Type", whole}},
		"binary, EventBridge's event":            {wrapped, in()},
		"binary, its detail":                     {crossed, in()},
		"binary, percent-encoded":                {crossed, in("ce-source", "aws%2Erds%20%C3%A9")},
		"binary, without a time":                 {crossed, in("ce-time", "")},
	} {
		t.Run(name, func(t *testing.T) {
			e := attend()
			if a := e.post(c.body, append(c.header, bearer...)...); a.Code != 200 || e.logged != nil {
				t.Errorf("the answer is %d %s", a.Code, a.Body)
			}
			if diff := cmp.Diff([]Notice{crossing}, e.heard); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCloudEventsAreNotHeard(t *testing.T) {
	plain := []string{"Content-Type", "application/json"}
	old := at.Add(-time.Hour - time.Second).Format(time.RFC3339)
	for name, c := range map[string]struct {
		body   string
		header []string
		status int
		says   string
	}{
		"of no content type":                    {wrapped, nil, 415, "neither"},
		"of XML":                                {"<x/>", []string{"Content-Type", "application/xml"}, 415, "neither"},
		"in batches":                            {"[]", []string{"Content-Type", "application/cloudevents-batch+json"}, 415, "neither"},
		"of another format":                     {"x", []string{"Content-Type", "application/cloudevents+avro"}, 415, "neither"},
		"binary, of text":                       {"x", in("Content-Type", "text/plain"), 415, "neither"},
		"structured, no JSON":                   {"x", []string{"Content-Type", whole}, 400, "not the JSON of a CloudEvent"},
		"structured, of version 0.3":            {strings.Replace(structure(`,"data":`+crossed), "1.0", "0.3", 1), []string{"Content-Type", whole}, 400, "not of CloudEvents 1.0"},
		"structured, without a type":            {strings.Replace(structure(`,"data":`+crossed), `"type":"aws.rds"`, `"type":""`, 1), []string{"Content-Type", whole}, 400, "not of CloudEvents 1.0"},
		"structured, without an id":             {strings.Replace(structure(`,"data":`+crossed), `"id":"1"`, `"id":""`, 1), []string{"Content-Type", whole}, 400, "no source or id"},
		"structured, without a source":          {strings.Replace(structure(`,"data":`+crossed), `"source":"aws.rds"`, `"source":""`, 1), []string{"Content-Type", whole}, 400, "no source or id"},
		"structured, with data of XML":          {structure(`,"datacontenttype":"application/xml","data":"<x/>"`), []string{"Content-Type", whole}, 400, "data is not JSON"},
		"structured, without data":              {structure(""), []string{"Content-Type", whole}, 400, "no JSON object"},
		"binary, of version 0.3":                {crossed, in("ce-specversion", "0.3"), 400, "not of CloudEvents 1.0"},
		"binary, without a type":                {crossed, in("ce-type", ""), 400, "not of CloudEvents 1.0"},
		"binary, without an id":                 {crossed, in("ce-id", ""), 400, "no source or id"},
		"binary, with a line break":             {crossed, in("ce-id", "a%0Ab"), 400, "no source or id"},
		"binary, with a very long id":           {crossed, in("ce-id", strings.Repeat("x", 1000)), 400, "no source or id"},
		"binary, with a broken encoding":        {crossed, in("ce-source", "%zz"), 400, "header Ce-Source cannot be read"},
		"binary, no JSON":                       {"x", in(), 400, "no JSON object"},
		"binary, of more than an hour ago":      {crossed, in("ce-time", old), 400, "not of this hour"},
		"binary, of a time that is none":        {crossed, in("ce-time", "yesterday"), 400, "time that is none"},
		"of EventBridge, more than an hour ago": {strings.Replace(wrapped, "2024-03-01T11:59:59Z", old, 1), plain, 400, "not of this hour"},
		"of EventBridge, no JSON":               {"x", plain, 400, "not the JSON of EventBridge"},
		"of EventBridge, without an id":         {"{}", plain, 400, "no source or id"},
		"with an id of RDS that is none":        {strings.Replace(wrapped, "RDS-EVENT-0073", "x", 1), plain, 400, errShape.Error()},
		"about something else":                  {strings.Replace(wrapped, "aws.rds", "aws.ec2", 1), plain, 202, errOther.Error()},
		"about a snapshot":                      {strings.Replace(wrapped, "Cluster Event", "Cluster Snapshot Event", 1), plain, 202, errOther.Error()},
		"about something else, structured":      {structure(`,"data":{"a":1}`), []string{"Content-Type", whole}, 202, errOther.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			e := attend()
			a := e.post(c.body, append(c.header, bearer...)...)
			if a.Code != c.status || !strings.Contains(a.Body.String(), c.says) || e.heard != nil || (len(e.logged) == 1) != (c.status >= 400) {
				t.Errorf("the answer is %d %s, heard %v, logged %q; want %d %q", a.Code, a.Body, e.heard, e.logged, c.status, c.says)
			}
		})
	}
}

func TestCloudEventsProof(t *testing.T) {
	key := func(o *CloudEventsOptions) { o.Header = "x-api-key" }
	lost := func(o *CloudEventsOptions) {
		o.Secrets = func(context.Context) ([][]byte, error) { return nil, errors.New("no file " + secret) }
	}
	held := func(secrets ...string) func(*CloudEventsOptions) {
		return func(o *CloudEventsOptions) { o.Secrets = holds(secrets...) }
	}
	for name, c := range map[string]struct {
		change       func(*CloudEventsOptions)
		header, text string
		status       int
	}{
		"a bearer token":                        {held(secret), "Authorization", "Bearer " + secret, 200},
		"a bearer token in lower case":          {held(secret), "Authorization", "bearer " + secret, 200},
		"the old of two":                        {held(secret, "new"), "Authorization", "Bearer " + secret, 200},
		"the new of two":                        {held("old", secret), "Authorization", "Bearer " + secret, 200},
		"an API key":                            {key, "X-Api-Key", secret, 200},
		"no token":                              {held(secret), "X", "", 401},
		"a wrong token":                         {held(secret), "Authorization", "Bearer " + secret + "!", 401},
		"a token without its scheme":            {held(secret), "Authorization", secret, 401},
		"basic authentication":                  {held(secret), "Authorization", "Basic " + secret, 401},
		"a token where an API key is expected":  {key, "Authorization", "Bearer " + secret, 401},
		"an empty token with an empty secret":   {held(""), "Authorization", "Bearer ", 503},
		"an empty token beside an empty secret": {held("", secret), "Authorization", "Bearer ", 401},
		"a token where no secret is held":       {held(), "Authorization", "Bearer " + secret, 503},
		"a token where none is configured":      {func(o *CloudEventsOptions) { o.Secrets = nil }, "Authorization", "Bearer " + secret, 503},
		"a token where it cannot be read":       {lost, "Authorization", "Bearer " + secret, 503},
	} {
		t.Run(name, func(t *testing.T) {
			e := attend(c.change)
			a := e.post(wrapped, "Content-Type", "application/json", c.header, c.text)
			if a.Code != c.status || (len(e.heard) == 1) != (c.status == 200) {
				t.Errorf("the answer is %d %s", a.Code, a.Body)
			}
			if strings.Contains(a.Body.String()+fmt.Sprint(e.logged), secret) {
				t.Errorf("it gives the secret away: %s, %q", a.Body, e.logged)
			}
		})
	}
}

func TestCloudEventsAReplayDoesNothing(t *testing.T) {
	e := attend()
	for i, c := range []struct {
		source, id string
		status     int
	}{{"a", "1", 200}, {"a", "1", 202}, {"b", "1", 200}, {"a", "2", 200}, {"b", "1", 202}} {
		if a := e.post(crossed, append(in("ce-source", c.source, "ce-id", c.id), bearer...)...); a.Code != c.status {
			t.Errorf("%d: the answer is %d %s", i, a.Code, a.Body)
		}
	}
	if len(e.heard) != 3 {
		t.Errorf("heard %d", len(e.heard))
	}
}

// What both handlers do before anything is proven.
func TestTheDoor(t *testing.T) {
	w := newWorld(t)
	for name, open := range map[string]func(func(*Options)) *ear{
		"sns":         func(c func(*Options)) *ear { return w.listen(t, func(o *SNSOptions) { c(&o.Options) }) },
		"cloudevents": func(c func(*Options)) *ear { return attend(func(o *CloudEventsOptions) { c(&o.Options) }) },
	} {
		t.Run(name, func(t *testing.T) {
			as := func(e *ear, method string, body io.Reader) *httptest.ResponseRecorder {
				r, a := httptest.NewRequest(method, "/", body), httptest.NewRecorder()
				r.Header.Set(bearer[0], bearer[1])
				e.ServeHTTP(a, r)
				return a
			}
			if a := as(open(func(*Options) {}), http.MethodGet, nil); a.Code != 405 || a.Header().Get("Allow") != "POST" {
				t.Errorf("the answer to a GET is %d", a.Code)
			}
			if a := as(open(func(*Options) {}), http.MethodPost, strings.NewReader(strings.Repeat("x", defaultLimit+1))); a.Code != 413 {
				t.Errorf("the answer to a large body is %d", a.Code)
			}
			if a := as(open(func(o *Options) { o.Limit = 9 }), http.MethodPost, strings.NewReader("0123456789")); a.Code != 413 || !strings.Contains(a.Body.String(), "over 9 bytes") {
				t.Errorf("the answer to a large body is %d %s", a.Code, a.Body)
			}
			if a := as(open(func(*Options) {}), http.MethodPost, broken{}); a.Code != 400 || !strings.Contains(a.Body.String(), "whole") {
				t.Errorf("the answer to half a body is %d %s", a.Code, a.Body)
			}
			if a := as(open(func(o *Options) { o.Log = nil }), http.MethodGet, nil); a.Code != 405 {
				t.Errorf("the answer without a log is %d", a.Code)
			}
			rated(t, open)
		})
	}
}

// broken is a body that ends early.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func rated(t *testing.T, open func(func(*Options)) *ear) {
	t.Helper()
	now := at
	e := open(func(o *Options) { o.Rate, o.Burst, o.Now = 0.5, 2, func() time.Time { return now } })
	for i, c := range []struct {
		later time.Duration
		over  bool
		retry string
	}{{0, false, ""}, {0, false, ""}, {0, true, "2"}, {time.Second, true, "1"}, {time.Second, false, ""}, {0, true, "2"}} {
		now = now.Add(c.later)
		a := e.post("x")
		if (a.Code == 429) != c.over || a.Header().Get("Retry-After") != c.retry {
			t.Errorf("request %d: the answer is %d, Retry-After %q", i, a.Code, a.Header().Get("Retry-After"))
		}
	}
	if len(e.logged) != 3 {
		t.Errorf("the log has %q", e.logged)
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	d := newDoor(Options{})
	for i := range remembered + 100 {
		if id := fmt.Sprint(i); !d.first(id) || d.first(id) {
			t.Fatalf("%s was not first once", id)
		}
	}
	if d.seen.Len() != remembered {
		t.Errorf("%d are kept", d.seen.Len())
	}
}

// FuzzRead: any request is a CloudEvent with a source and an id, or none.
func FuzzRead(f *testing.F) {
	f.Add("application/json", "", "", "", "", []byte(wrapped))
	f.Add("application/json", "1.0", "t", "s", "1", []byte(crossed))
	f.Add("application/cloudevents+json", "", "", "", "", []byte(structure(`,"data_base64":"e30="`)))
	f.Fuzz(func(t *testing.T, kind, version, event, source, id string, body []byte) {
		h := http.Header{}
		for name, value := range map[string]string{"Content-Type": kind, "Ce-Specversion": version, "Ce-Type": event, "Ce-Source": source, "Ce-Id": id} {
			h.Set(name, value)
		}
		e, err := read(h, body)
		if err == nil && (e.source == "" || e.id == "" || strings.Contains(e.source+e.id, "\n")) {
			t.Errorf("got %+v", e)
		}
		if err != nil && (e.source != "" || e.data != nil) {
			t.Errorf("got %+v and %v", e, err)
		}
		_, _ = parse(e.data, at)
	})
}
