package notice

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// at is when everything here happens.
var at = time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	topic     = "arn:aws:sns:eu-west-1:123456789012:rds-events"
	certURL   = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-01.pem"
	issuerURL = "http://crt.r2m01.amazontrust.com/r2m01.cer"
	secret    = "hunter2"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// party is a certificate and its key.
type party struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// common is the key of each leaf that does not bring its own: they are slow to make.
var common = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func (p party) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.certificate.Raw}))
}

// issue makes a certificate that is valid for a month around at. Its own issuer is a root.
func issue(t testing.TB, by *party, name string, change ...func(*x509.Certificate)) party {
	t.Helper()
	var key crypto.Signer
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if by != nil {
		key, err = common()
	}
	must(t, err)
	return issueFor(t, by, key, name, change...)
}

func issueFor(t testing.TB, by *party, key crypto.Signer, name string, change ...func(*x509.Certificate)) party {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: at.Add(-360 * time.Hour), NotAfter: at.Add(360 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	for _, c := range change {
		c(template)
	}
	if by == nil {
		by = &party{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.certificate, key.Public(), by.key)
	must(t, err)
	certificate, err := x509.ParseCertificate(der)
	must(t, err)
	return party{certificate, key}
}

// leaf makes a certificate one that signs messages of that host.
func leaf(host string) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		c.IsCA, c.DNSNames, c.KeyUsage = false, []string{host}, x509.KeyUsageDigitalSignature
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		c.IssuingCertificateURL = []string{issuerURL}
	}
}

// world is AWS: who signs, and what can be fetched.
type world struct {
	root, issuer, signer party
	pages                map[string]string
	fetched              []string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{root: issue(t, nil, "Test Root")}
	w.issuer = issue(t, &w.root, "Test Issuer")
	w.signer = issue(t, &w.issuer, "sns.amazonaws.com", leaf("sns.amazonaws.com"))
	w.pages = map[string]string{certURL: w.signer.pem() + w.issuer.pem()}
	return w
}

// fetch is strict: an address that nobody should ask for fails the test.
func (w *world) fetch(t testing.TB) func(context.Context, string) ([]byte, error) {
	return func(ctx context.Context, address string) ([]byte, error) {
		w.fetched = append(w.fetched, address)
		page, ok := w.pages[address]
		switch {
		case !ok:
			t.Errorf("%s was fetched", address)
			return nil, errors.New("not there")
		case page == "":
			return nil, errors.New("down")
		}
		return []byte(page), ctx.Err()
	}
}

func (w *world) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(w.root.certificate)
	return pool
}

// ear is a handler, what it heard and what it logged.
type ear struct {
	http.Handler
	heard  []Notice
	logged []string
}

func (e *ear) options() Options {
	return Options{
		Notify: func(n Notice) { e.heard = append(e.heard, n) },
		Log:    func(text string) { e.logged = append(e.logged, text) },
		Now:    func() time.Time { return at },
	}
}

func (w *world) listen(t testing.TB, change ...func(*SNSOptions)) *ear {
	e := &ear{}
	o := SNSOptions{Options: e.options(), Topics: []string{topic}, Fetch: w.fetch(t), Roots: w.roots()}
	for _, c := range change {
		c(&o)
	}
	e.Handler = SNS(o)
	return e
}

func (e *ear) post(body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

// fields is a message as SNS posts it.
type fields map[string]any

// notified is the fields of a notification with this text.
func notified(text string) fields {
	return fields{
		"Type": "Notification", "MessageId": "95df01b4-ee98-5cb9-9903-4c221d41eb5e", "TopicArn": topic, "Subject": "RDS Notification Message",
		"Message": text, "Timestamp": at.Add(-time.Second).Format("2006-01-02T15:04:05.000Z"), "SignatureVersion": "2",
		"SigningCertURL": certURL, "UnsubscribeURL": "https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe", "MessageAttributes": fields{},
	}
}

func subscribed() fields {
	f := notified("You have chosen to subscribe to the topic " + topic + ".\nTo confirm the subscription, visit the SubscribeURL.")
	delete(f, "Subject")
	f["Type"], f["Token"] = "SubscriptionConfirmation", "2336412f37"
	f["SubscribeURL"] = subscribeURL
	return f
}

const subscribeURL = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=" + topic + "&Token=2336412f37"

func (f fields) with(name string, value any) fields {
	f[name] = value
	return f
}

// signed signs the fields in the documented order, and adds the signature.
func (f fields) signed(t testing.TB, by party) string {
	t.Helper()
	order := []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	if f["Type"] != "Notification" {
		order = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	}
	var text bytes.Buffer
	for _, name := range order {
		if value, ok := f[name].(string); ok {
			text.WriteString(name + "\n" + value + "\n")
		}
	}
	hash, sum := crypto.SHA256, sha256.Sum256(text.Bytes())
	digest := sum[:]
	if f["SignatureVersion"] == "1" {
		old := sha1.Sum(text.Bytes())
		hash, digest = crypto.SHA1, old[:]
	}
	signature, err := by.key.Sign(rand.Reader, digest, hash)
	must(t, err)
	f["Signature"] = base64.StdEncoding.EncodeToString(signature)
	return f.text(t)
}

func (f fields) text(t testing.TB) string {
	t.Helper()
	text, err := json.Marshal(f)
	must(t, err)
	return string(text)
}

func query(address, name, value string) string {
	u, _ := url.Parse(address)
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}
