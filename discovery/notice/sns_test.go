package notice

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSNSIsHeard(t *testing.T) {
	w := newWorld(t)
	bridged := bridge("RDS DB Cluster Event", detailOf("CLUSTER", clusterARN, "x", "RDS-EVENT-0073", "failover"))
	without := notified(failedOver)
	delete(without, "Subject")
	for name, c := range map[string]struct {
		message fields
		want    Notice
	}{
		"an event":                                  {notified(failedOver), overToTwo},
		"an event signed with SHA-1":                {notified(failedOver).with("SignatureVersion", "1"), overToTwo},
		"an event without a subject":                {without, overToTwo},
		"an event of EventBridge by way of a topic": {notified(bridged), something(Cluster, "example-pg", "eu-west-1", "RDS-EVENT-0073", Failover)},
		"an event of an hour ago":                   {notified(failedOver).with("Timestamp", at.Add(-time.Hour).Format(time.RFC3339)), overToTwo},
	} {
		t.Run(name, func(t *testing.T) {
			e := w.listen(t)
			if a := e.post(c.message.signed(t, w.signer), "Content-Type", "text/plain; charset=UTF-8"); a.Code != http.StatusOK || e.logged != nil {
				t.Errorf("the answer is %d %s", a.Code, a.Body)
			}
			if diff := cmp.Diff([]Notice{c.want}, e.heard); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSNSIsNotHeard(t *testing.T) {
	w := newWorld(t)
	another, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	stranger := issueFor(t, &w.issuer, another, "sns.amazonaws.com", leaf("sns.amazonaws.com"))
	sign := func(f fields) string { return f.signed(t, w.signer) }
	after := func(f fields, name string, value any) string { // changed on the way
		sign(f)
		return f.with(name, value).text(t)
	}
	event := func() fields { return notified(failedOver) }
	for name, c := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"no JSON":                            {"hello", 400, "no message of Amazon SNS"},
		"a number for a text":                {`{"Type":7}`, 400, "no message of Amazon SNS"},
		"an unknown type":                    {sign(event().with("Type", "Notice")), 400, "type that is not known"},
		"no id":                              {sign(event().with("MessageId", "")), 400, "no id"},
		"an id with a line break":            {sign(event().with("MessageId", "a\nSubject")), 400, "no id"},
		"a subject with a line break":        {sign(event().with("Subject", "a\nTimestamp")), 400, "line break"},
		"no time":                            {sign(event().with("Timestamp", "now")), 400, "no id, topic or time"},
		"no topic":                           {sign(event().with("TopicArn", "")), 400, "no id, topic or time"},
		"a confirmation without a token":     {sign(subscribed().with("Token", "")), 400, "no token"},
		"another topic":                      {sign(event().with("TopicArn", topic+"2")), 403, "not listened to"},
		"a topic that begins like ours":      {sign(event().with("TopicArn", topic[:len(topic)-1])), 403, "not listened to"},
		"an hour and a second ago":           {sign(event().with("Timestamp", at.Add(-time.Hour-time.Second).Format(time.RFC3339))), 400, "not of this hour"},
		"more than an hour ahead":            {sign(event().with("Timestamp", at.Add(time.Hour+time.Second).Format(time.RFC3339))), 400, "not of this hour"},
		"another text than was signed":       {after(event(), "Message", strings.Replace(failedOver, "pg-2", "pg-3", 1)), 403, "not the message's"},
		"another time than was signed":       {after(event(), "Timestamp", at.Format(time.RFC3339)), 403, "not the message's"},
		"another id than was signed":         {after(event(), "MessageId", "made-up"), 403, "not the message's"},
		"another type than was signed":       {after(subscribed(), "Type", "Notification"), 403, "not the message's"},
		"another version than was signed":    {after(event(), "SignatureVersion", "1"), 403, "not the message's"},
		"a subject that was not signed":      {after(subscribed().with("Type", "Notification"), "Subject", "x"), 403, "not the message's"},
		"the key of somebody else":           {event().signed(t, stranger), 403, "not the message's"},
		"an unknown version":                 {after(event(), "SignatureVersion", "3"), 403, "version that is not known"},
		"no signature":                       {event().text(t), 403, "not the message's"},
		"a signature that is not base64":     {after(event(), "Signature", "*"), 403, "not base64"},
		"a certificate of another host":      {sign(event().with("SigningCertURL", "https://sns.eu-west-1.amazonaws.com.evil.com/x.pem")), 403, "does not lead to"},
		"a certificate in somebody's bucket": {sign(event().with("SigningCertURL", "https://sns.s3.amazonaws.com/x.pem")), 403, "does not lead to"},
		"a certificate of a bare host":       {sign(event().with("SigningCertURL", "https://sns.amazonaws.com/x.pem")), 403, "does not lead to"},
		"a certificate over HTTP":            {sign(event().with("SigningCertURL", strings.Replace(certURL, "https", "http", 1))), 403, "does not lead to"},
		"a certificate at another port":      {sign(event().with("SigningCertURL", strings.Replace(certURL, ".com/", ".com:8443/", 1))), 403, "does not lead to"},
		"a certificate behind a user":        {sign(event().with("SigningCertURL", "https://sns.eu-west-1.amazonaws.com@evil.com/x.pem")), 403, "does not lead to"},
		"a certificate with a user":          {sign(event().with("SigningCertURL", strings.Replace(certURL, "//", "//a:b@", 1))), 403, "does not lead to"},
		"a certificate by a query":           {sign(event().with("SigningCertURL", "https://sns.eu-west-1.amazonaws.com/?x=.pem")), 403, "does not lead to"},
		"a certificate that is no file":      {sign(event().with("SigningCertURL", "https://sns.eu-west-1.amazonaws.com/x.cer")), 403, "does not lead to"},
		"a certificate that is no address":   {sign(event().with("SigningCertURL", "https://%zz/x.pem")), 403, "does not lead to"},
	} {
		t.Run(name, func(t *testing.T) {
			e := w.listen(t)
			a := e.post(c.body)
			if a.Code != c.status || !strings.Contains(a.Body.String(), c.says) || e.heard != nil || len(e.logged) != 1 {
				t.Errorf("the answer is %d %s, heard %v, logged %q; want %d %q", a.Code, a.Body, e.heard, e.logged, c.status, c.says)
			}
		})
	}
}

func TestSNSTheRegionsThatThereAre(t *testing.T) {
	w := newWorld(t)
	china := issue(t, &w.issuer, "sns", leaf("sns.cn-north-1.amazonaws.com.cn"))
	chinas := issue(t, &w.issuer, "sns", leaf("sns.amazonaws.com.cn"))
	regional := issue(t, &w.issuer, "sns", leaf("sns.us-gov-west-1.amazonaws.com"))
	for address, signer := range map[string]party{
		"https://sns.cn-north-1.amazonaws.com.cn/a.pem":     china,
		"https://sns.cn-northwest-1.amazonaws.com.cn/a.pem": chinas,
		"https://sns.us-gov-west-1.amazonaws.com/a.pem":     regional,
		"https://sns.ap-southeast-7.amazonaws.com/a.pem":    w.signer,
	} {
		w.pages[address] = signer.pem() + w.issuer.pem()
		e := w.listen(t)
		if a := e.post(notified(failedOver).with("SigningCertURL", address).signed(t, signer)); a.Code != http.StatusOK || len(e.heard) != 1 {
			t.Errorf("%s: the answer is %d %s", address, a.Code, a.Body)
		}
	}
}

func TestSNSCertificates(t *testing.T) {
	w := newWorld(t)
	other := issue(t, nil, "Another Root")
	own := func(c *x509.Certificate) { leaf("sns.amazonaws.com")(c) }
	made := func(by *party, change ...func(*x509.Certificate)) party {
		return issue(t, by, "sns", append([]func(*x509.Certificate){own}, change...)...)
	}
	ended := made(&w.issuer, func(c *x509.Certificate) { c.NotAfter = at.Add(-time.Second) })
	early := made(&w.issuer, func(c *x509.Certificate) { c.NotBefore = at.Add(time.Second) })
	named := made(&w.issuer, leaf("sqs.amazonaws.com"))
	nameless := made(&w.issuer, func(c *x509.Certificate) { c.DNSNames = nil })
	stranger := made(&other)
	lost := made(&w.issuer, func(c *x509.Certificate) { c.IssuingCertificateURL = nil })
	away := made(&w.issuer, func(c *x509.Certificate) {
		c.IssuingCertificateURL = []string{"http://amazontrust.com.evil.com/x", "ldap://crt.amazontrust.com/x"}
	})
	for name, c := range map[string]struct {
		signer  party
		page    string // at certURL
		issuer  string // at issuerURL
		status  int
		says    string
		fetched int
	}{
		"with its issuer":                         {w.signer, w.signer.pem() + w.issuer.pem(), "", 200, "heard", 1},
		"alone, its issuer is fetched":            {w.signer, w.signer.pem(), string(w.issuer.certificate.Raw), 200, "heard", 2},
		"alone, its issuer is fetched as PEM":     {w.signer, w.signer.pem(), w.issuer.pem(), 200, "heard", 2},
		"alone, its issuer cannot be fetched now": {w.signer, w.signer.pem(), "", 503, "cannot be fetched now", 2},
		"alone, its issuer is no certificate":     {w.signer, w.signer.pem(), "x", 403, "not trusted", 2},
		"alone, with another issuer":              {w.signer, w.signer.pem(), string(other.certificate.Raw), 403, "not trusted", 2},
		"alone, without an address of its issuer": {lost, lost.pem(), "", 403, "names no issuer", 1},
		"alone, its issuer anywhere":              {away, away.pem(), "", 403, "names no issuer", 1},
		"that ended":                              {ended, ended.pem() + w.issuer.pem(), "", 403, "not trusted", 1},
		"that is not valid yet":                   {early, early.pem() + w.issuer.pem(), "", 403, "not trusted", 1},
		"of another service":                      {named, named.pem() + w.issuer.pem(), "", 403, "not of Amazon SNS", 1},
		"without a name":                          {nameless, nameless.pem() + w.issuer.pem(), "", 403, "not of Amazon SNS", 1},
		"of another root, which it brings along":  {stranger, stranger.pem() + other.pem(), string(other.certificate.Raw), 403, "not trusted", 2},
		"that cannot be fetched now":              {w.signer, "", "", 503, "cannot be fetched now", 1},
		"that is none":                            {w.signer, "hello", "", 403, "no certificate at", 1},
		"that is a key":                           {w.signer, strings.ReplaceAll(w.signer.pem(), "CERTIFICATE", "PUBLIC KEY"), "", 403, "no certificate at", 1},
		"that is garbage":                         {w.signer, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "", 403, "no certificate at", 1},
	} {
		t.Run("a certificate "+name, func(t *testing.T) {
			here := &world{root: w.root, pages: map[string]string{certURL: c.page, issuerURL: c.issuer}}
			e := here.listen(t)
			a := e.post(notified(failedOver).signed(t, c.signer))
			if a.Code != c.status || !strings.Contains(a.Body.String(), c.says) || (len(e.heard) == 1) != (c.status == 200) {
				t.Errorf("the answer is %d %s; want %d %q", a.Code, a.Body, c.status, c.says)
			}
			if len(here.fetched) > c.fetched+issuersMost-1 || len(here.fetched) < c.fetched {
				t.Errorf("fetched %q", here.fetched)
			}
		})
	}
}

func TestSNSACertificateWithoutAnRSAKey(t *testing.T) {
	w := newWorld(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	curved := issueFor(t, &w.issuer, key, "sns.amazonaws.com", leaf("sns.amazonaws.com"))
	w.pages[certURL] = curved.pem() + w.issuer.pem()
	if a := w.listen(t).post(notified(failedOver).signed(t, w.signer)); a.Code != 403 || !strings.Contains(a.Body.String(), "no RSA key") {
		t.Errorf("the answer is %d %s", a.Code, a.Body)
	}
}

func TestSNSCertificatesAreKeptAndJudgedAnew(t *testing.T) {
	w := newWorld(t)
	now := at
	e := w.listen(t, func(o *SNSOptions) { o.Now = func() time.Time { return now } })
	send := func(id, address string) int {
		f := notified(failedOver).with("MessageId", id).with("SigningCertURL", address).with("Timestamp", now.Format(time.RFC3339))
		return e.post(f.signed(t, w.signer)).Code
	}
	if first, second := send("1", certURL), send("2", certURL); first != 200 || second != 200 || len(w.fetched) != 1 {
		t.Errorf("the answers are %d and %d, fetched %q", first, second, w.fetched)
	}
	now = at.Add(400 * time.Hour) // it has ended, and the file still has it
	if last := send("3", certURL); last != 403 || len(w.fetched) != 2 {
		t.Errorf("the answer is %d, fetched %q", last, w.fetched)
	}
	now = at
	for i := range 2 * certificatesKept {
		address := fmt.Sprintf("https://sns.eu-west-1.amazonaws.com/%d.pem", i)
		w.pages[address] = w.pages[certURL]
		send(fmt.Sprintf("m%d", i), address)
	}
	if kept := e.Handler.(*door).sender.(*sns).certificates.kept.Len(); kept != certificatesKept {
		t.Errorf("%d are kept", kept)
	}
}

func TestSNSAReplayDoesNothing(t *testing.T) {
	w := newWorld(t)
	e := w.listen(t)
	body := notified(failedOver).signed(t, w.signer)
	first, second := e.post(body), e.post(body)
	if first.Code != 200 || second.Code != 202 || len(e.heard) != 1 || !strings.Contains(second.Body.String(), "before") {
		t.Errorf("the answers are %d and %d, heard %v", first.Code, second.Code, e.heard)
	}
}

func TestSNSWhatIsNoEventIsAccepted(t *testing.T) {
	w := newWorld(t)
	for _, text := range []string{"This is a message to notify that RDS will attempt to send you event notifications", "{}", `{"Event ID":"x"}`} {
		e := w.listen(t)
		if a := e.post(notified(text).signed(t, w.signer)); a.Code != 202 || e.heard != nil || e.logged != nil {
			t.Errorf("%q: the answer is %d %s", text, a.Code, a.Body)
		}
	}
}

func TestSNSSubscriptions(t *testing.T) {
	w := newWorld(t)
	w.pages[subscribeURL] = "<ConfirmSubscriptionResponse/>"
	confirmed := []string{"subscribed to " + topic}
	elsewhere := strings.Replace(subscribeURL, "sns.eu-west-1.amazonaws.com", "evil.com", 1)
	for name, c := range map[string]struct {
		message fields
		status  int
		logged  []string
	}{
		"is confirmed":                          {subscribed(), 200, confirmed},
		"leads elsewhere":                       {subscribed().with("SubscribeURL", elsewhere), 403, nil},
		"does something else":                   {subscribed().with("SubscribeURL", query(subscribeURL, "Action", "DeleteTopic")), 403, nil},
		"is for another topic":                  {subscribed().with("SubscribeURL", query(subscribeURL, "TopicArn", topic+"2")), 403, nil},
		"has another token":                     {subscribed().with("SubscribeURL", query(subscribeURL, "Token", "1")), 403, nil},
		"is of a topic that is not listened to": {subscribed().with("TopicArn", topic+"2"), 403, nil},
		"has ended":                             {subscribed().with("Type", "UnsubscribeConfirmation"), 200, []string{"the subscription to " + topic + " has ended; nothing is heard from it any more"}},
	} {
		t.Run("one that "+name, func(t *testing.T) {
			w.fetched = nil
			e := w.listen(t)
			a := e.post(c.message.signed(t, w.signer))
			if a.Code != c.status || e.heard != nil || c.logged != nil && !slices.Equal(e.logged, c.logged) {
				t.Errorf("the answer is %d %s, logged %q", a.Code, a.Body, e.logged)
			}
			if visited := slices.Contains(w.fetched, subscribeURL); visited != slices.Equal(c.logged, confirmed) {
				t.Errorf("fetched %q", w.fetched)
			}
		})
	}
}

func TestSNSAConfirmationThatDidNotWorkIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.pages[subscribeURL] = ""
	e := w.listen(t)
	body := subscribed().signed(t, w.signer)
	first := e.post(body)
	w.pages[subscribeURL] = "<ConfirmSubscriptionResponse/>"
	second, third := e.post(body), e.post(body)
	if first.Code != 502 || second.Code != 200 || third.Code != 202 {
		t.Errorf("the answers are %d, %d and %d", first.Code, second.Code, third.Code)
	}
}

func TestSNSWithoutTopicsNobodyIsBelieved(t *testing.T) {
	w := newWorld(t)
	e := w.listen(t, func(o *SNSOptions) { o.Topics = nil })
	if a := e.post(notified(failedOver).signed(t, w.signer)); a.Code != 403 || w.fetched != nil {
		t.Errorf("the answer is %d %s, fetched %q", a.Code, a.Body, w.fetched)
	}
}

func TestSNSRawDeliveryIsRefused(t *testing.T) {
	w := newWorld(t)
	if a := w.listen(t).post(failedOver, "X-Amz-Sns-Rawdelivery", "true"); a.Code != 400 || !strings.Contains(a.Body.String(), "turn off raw message delivery") {
		t.Errorf("the answer is %d %s", a.Code, a.Body)
	}
}

// What fetches by default follows no redirect, takes no other answer than 200, and reads so much and no more.
func TestTheDefaultFetch(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			_, _ = w.Write([]byte(strings.Repeat("x", 2*fetchMost)))
		case "/away":
			http.Redirect(w, r, "/large", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	fetch := newFetch()
	if text, err := fetch(t.Context(), server.URL+"/large"); err != nil || len(text) != fetchMost {
		t.Errorf("got %d bytes and %v", len(text), err)
	}
	for _, path := range []string{"/away", "/missing", ":"} {
		if text, err := fetch(t.Context(), server.URL+path); err == nil {
			t.Errorf("%s: got %q", path, text)
		}
	}
}

// FuzzMessage: any text is a message whose signed text can be read in one way, or none.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(notified(failedOver).with("Signature", "AA==").text(f)))
	f.Add([]byte(subscribed().text(f)))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseMessage(text)
		if err != nil {
			if m != (message{}) {
				t.Errorf("got %+v and %v", m, err)
			}
			return
		}
		own := 5
		if m.Type != notification {
			own = 7
		} else if m.Subject != nil {
			own = 6
		}
		if got, want := strings.Count(string(m.signed()), "\n"), 2*own+strings.Count(m.Message, "\n"); got != want {
			t.Errorf("%d lines where %d are: %q", got, want, m.signed())
		}
		if host, ok := ofSNS(m.Certificate); ok && !strings.HasPrefix(m.Certificate, "https://"+host+"/") && !strings.HasPrefix(strings.ToLower(m.Certificate), "https://"+host) {
			t.Errorf("%q is taken for %s", m.Certificate, host)
		}
	})
}
