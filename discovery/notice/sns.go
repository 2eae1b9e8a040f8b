package notice

import (
	"context"
	"crypto/x509"
	"net/http"
	"slices"
)

// SNSOptions say which topics to listen to.
type SNSOptions struct {
	Options
	// Topics are the ARNs of the topics that are listened to. None: nothing is.
	Topics []string
	// Fetch gets the document at an address, which this package has judged. Default: over HTTPS, without following redirects,
	// 64 KiB and 5 seconds at most.
	Fetch func(ctx context.Context, url string) ([]byte, error)
	// Roots are the authorities that SNS's certificates may come from. Default: the machine's.
	Roots *x509.CertPool
}

type sns struct {
	*door
	topics       []string
	fetch        func(context.Context, string) ([]byte, error)
	certificates *certificates
}

// SNS answers Amazon SNS at whatever path it is mounted.
func SNS(o SNSOptions) http.Handler {
	if o.Fetch == nil {
		o.Fetch = newFetch()
	}
	s := &sns{
		door: newDoor(o.Options), topics: slices.Clone(o.Topics), fetch: o.Fetch,
		certificates: newCertificates(o.Fetch, o.Roots),
	}
	s.sender = s
	return s.door
}

func (s *sns) admit(r *http.Request) *answer {
	if r.Header.Get("X-Amz-Sns-Rawdelivery") == "true" {
		return refuse(http.StatusBadRequest, "a raw delivery has no signature; turn off raw message delivery at the subscription")
	}
	return nil
}

func (s *sns) hear(r *http.Request, body []byte) *answer {
	m, err := parseMessage(body)
	if err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	if !slices.Contains(s.topics, m.Topic) {
		return refuse(http.StatusForbidden, "this topic is not listened to")
	}
	if !s.timely(m.at) {
		return refuse(http.StatusBadRequest, "the message is not of this hour")
	}
	if no := s.authentic(r.Context(), m); no != nil {
		return no
	}
	if !s.first(m.ID) {
		return replayed()
	}
	switch m.Type {
	case subscription:
		return s.subscribe(r.Context(), m)
	case unsubscription:
		s.Log("the subscription to " + m.Topic + " has ended; nothing is heard from it any more")
		return &answer{http.StatusOK, "noted"}
	}
	return s.notify(m)
}

func (s *sns) authentic(ctx context.Context, m message) *answer {
	host, ok := ofSNS(m.Certificate)
	if !ok || !isCertificate(m.Certificate) {
		return refuse(http.StatusForbidden, "SigningCertURL does not lead to Amazon SNS")
	}
	signer, err := s.certificates.get(ctx, m.Certificate, host, s.Now())
	if err != nil {
		return untrusted(err)
	}
	if err := m.verify(signer); err != nil {
		return refuse(http.StatusForbidden, err.Error())
	}
	return nil
}

func (s *sns) notify(m message) *answer {
	n, err := parse([]byte(m.Message), m.at)
	if err != nil {
		// The first message of a subscription is a sentence, and others may publish to the topic too.
		return &answer{http.StatusAccepted, err.Error()}
	}
	return s.pass(n)
}

func (s *sns) subscribe(ctx context.Context, m message) *answer {
	if !confirms(m) {
		return refuse(http.StatusForbidden, "SubscribeURL does not confirm this topic at Amazon SNS")
	}
	if _, err := s.fetch(ctx, m.SubscribeURL); err != nil {
		s.forget(m.ID)
		return refuse(http.StatusBadGateway, "confirming the subscription to "+m.Topic+" did not work; it is tried again")
	}
	s.Log("subscribed to " + m.Topic)
	return &answer{http.StatusOK, "subscribed"}
}

// confirms tells whether the address confirms this very subscription and does nothing else.
func confirms(m message) bool {
	_, ok := ofSNS(m.SubscribeURL)
	query := queryOf(m.SubscribeURL)
	return ok && query.Get("Action") == "ConfirmSubscription" && query.Get("TopicArn") == m.Topic && query.Get("Token") == m.Token
}
