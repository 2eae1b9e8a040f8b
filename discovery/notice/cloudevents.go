package notice

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// CloudEventsOptions say whom to believe.
type CloudEventsOptions struct {
	Options
	// Secrets returns the shared secrets, asked on each request. Empty ones do not count.
	Secrets func(context.Context) ([][]byte, error)
	// Header is the one that carries the secret bare, as an API key of EventBridge is. Default: "Authorization", where it is a bearer
	// token.
	Header string
}

type cloudEvents struct {
	*door
	secrets func(context.Context) ([][]byte, error)
	header  string
}

// CloudEvents answers EventBridge and other senders of CloudEvents at whatever path it is mounted.
func CloudEvents(o CloudEventsOptions) http.Handler {
	if o.Header == "" {
		o.Header = "Authorization"
	}
	c := &cloudEvents{door: newDoor(o.Options), secrets: o.Secrets, header: http.CanonicalHeaderKey(o.Header)}
	c.sender = c
	return c.door
}

func (c *cloudEvents) admit(r *http.Request) *answer {
	if c.secrets == nil {
		return refuse(http.StatusServiceUnavailable, "no secret is configured here")
	}
	secrets, err := c.secrets(r.Context())
	if err != nil {
		return refuse(http.StatusServiceUnavailable, "the secret cannot be read here")
	}
	given, some := sha256.Sum256([]byte(c.given(r))), false
	match := 0
	for _, secret := range secrets {
		if len(secret) > 0 {
			want := sha256.Sum256(secret) // of equal length, so that the comparison tells nothing of the secret's
			match |= subtle.ConstantTimeCompare(given[:], want[:])
			some = true
		}
	}
	switch {
	case !some:
		return refuse(http.StatusServiceUnavailable, "no secret is configured here")
	case match == 0:
		return refuse(http.StatusUnauthorized, "the secret in "+c.header+" is missing or wrong")
	}
	return nil
}

// given is the secret that the request carries.
func (c *cloudEvents) given(r *http.Request) string {
	value := r.Header.Get(c.header)
	if c.header != "Authorization" {
		return value
	}
	if scheme, token, ok := strings.Cut(value, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return ""
}

func (c *cloudEvents) hear(r *http.Request, body []byte) *answer {
	e, err := read(r.Header, body)
	switch {
	case errors.Is(err, errMode):
		return refuse(http.StatusUnsupportedMediaType, err.Error())
	case err != nil:
		return refuse(http.StatusBadRequest, err.Error())
	}
	sent := moment(e.time, c.Now())
	if !c.timely(sent) {
		return refuse(http.StatusBadRequest, "the event is not of this hour")
	}
	n, err := parse(e.data, sent)
	switch {
	case errors.Is(err, errOther):
		return &answer{http.StatusAccepted, err.Error()}
	case err != nil:
		return refuse(http.StatusBadRequest, err.Error())
	case !c.first(e.source + "\n" + e.id): // neither has a line break
		return replayed()
	}
	return c.pass(n)
}

var errMode = errors.New("this is neither a CloudEvent in structured or binary mode nor JSON")

// cloudEvent is what is needed of one.
type cloudEvent struct {
	source, id, time string
	data             []byte
}

// read tells the modes apart, as the HTTP binding of CloudEvents 1.0 does: by the content type.
// https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md
func read(header http.Header, body []byte) (cloudEvent, error) {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return cloudEvent{}, errMode
	}
	var e cloudEvent
	switch {
	case kind == "application/cloudevents+json":
		e, err = structured(body)
	case kind != "application/json":
		return cloudEvent{}, errMode
	case header.Get("Ce-Specversion") != "":
		e, err = binary(header, body)
	default:
		e, err = untransformed(body)
	}
	switch {
	case err != nil:
		return cloudEvent{}, err
	case e.source == "" || e.id == "" || len(e.source)+len(e.id) > 1000 || strings.ContainsAny(e.source+e.id, "\r\n"):
		return cloudEvent{}, errors.New("the event has no source or id")
	case e.time != "" && moment(e.time, time.Time{}).IsZero():
		return cloudEvent{}, errors.New("the event has a time that is none")
	}
	return e, nil
}

func structured(body []byte) (cloudEvent, error) {
	var s struct {
		Version string          `json:"specversion"`
		ID      string          `json:"id"`
		Source  string          `json:"source"`
		Type    string          `json:"type"`
		Time    string          `json:"time"`
		Kind    string          `json:"datacontenttype"`
		Data    json.RawMessage `json:"data"`
		Base64  []byte          `json:"data_base64"`
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return cloudEvent{}, errors.New("the event is not the JSON of a CloudEvent")
	}
	switch kind, _, err := mime.ParseMediaType(s.Kind); {
	case s.Version != "1.0" || s.Type == "":
		return cloudEvent{}, errors.New("the event is not of CloudEvents 1.0")
	case s.Kind != "" && (err != nil || kind != "application/json"):
		return cloudEvent{}, errors.New("the event's data is not JSON")
	case len(s.Base64) > 0:
		s.Data = s.Base64
	}
	return cloudEvent{s.Source, s.ID, s.Time, s.Data}, nil
}

func binary(header http.Header, body []byte) (cloudEvent, error) {
	var value [5]string
	for i, name := range []string{"Ce-Specversion", "Ce-Type", "Ce-Source", "Ce-Id", "Ce-Time"} {
		text, err := url.PathUnescape(header.Get(name)) // the binding percent-encodes what a header cannot carry
		if err != nil {
			return cloudEvent{}, errors.New("the header " + name + " cannot be read")
		}
		value[i] = text
	}
	if value[0] != "1.0" || value[1] == "" {
		return cloudEvent{}, errors.New("the event is not of CloudEvents 1.0")
	}
	return cloudEvent{value[2], value[3], value[4], body}, nil
}

// untransformed is an event as EventBridge sends it of itself.
func untransformed(body []byte) (cloudEvent, error) {
	var b bridged
	if err := json.Unmarshal(body, &b); err != nil {
		return cloudEvent{}, errors.New("the event is not the JSON of EventBridge")
	}
	return cloudEvent{b.Source, b.ID, b.Time, body}, nil
}
