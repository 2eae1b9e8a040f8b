package notice

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"time"
)

const (
	notification   = "Notification"
	subscription   = "SubscriptionConfirmation"
	unsubscription = "UnsubscribeConfirmation"
)

// message is what SNS posts. The signature covers what is below it in the form of the signed text.
type message struct {
	Type         string  `json:"Type"`
	ID           string  `json:"MessageId"`
	Topic        string  `json:"TopicArn"`
	Subject      *string `json:"Subject"`
	Message      string  `json:"Message"`
	Timestamp    string  `json:"Timestamp"`
	SubscribeURL string  `json:"SubscribeURL"`
	Token        string  `json:"Token"`

	Version     string `json:"SignatureVersion"`
	Signature   string `json:"Signature"`
	Certificate string `json:"SigningCertURL"`

	at time.Time
}

var messageID = regexp.MustCompile(`^[0-9A-Za-z-]{1,100}$`)

func parseMessage(text []byte) (message, error) {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return message{}, errors.New("this is no message of Amazon SNS")
	}
	at, err := time.Parse(time.RFC3339, m.Timestamp)
	switch {
	case m.Type != notification && m.Type != subscription && m.Type != unsubscription:
		return message{}, errors.New("the message has a type that is not known")
	case err != nil || !messageID.MatchString(m.ID) || m.Topic == "":
		return message{}, errors.New("the message has no id, topic or time")
	case m.Type != notification && (m.Token == "" || m.SubscribeURL == ""):
		return message{}, errors.New("the confirmation has no token or address")
	case strings.ContainsAny(m.Topic+m.Timestamp+m.Token+m.SubscribeURL+m.subject(), "\r\n"):
		return message{}, errors.New("the message has a line break where none can be")
	}
	m.at = at
	return m, nil
}

func (m message) subject() string {
	if m.Subject == nil {
		return ""
	}
	return *m.Subject
}

// signed is the text that SNS signs: the covered fields sorted by name, each name and each value with a line break.
// https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message-verify-message-signature.html
func (m message) signed() []byte {
	pairs := []string{"Message", m.Message, "MessageId", m.ID}
	switch {
	case m.Type != notification:
		pairs = append(pairs, "SubscribeURL", m.SubscribeURL, "Timestamp", m.Timestamp, "Token", m.Token)
	case m.Subject != nil:
		pairs = append(pairs, "Subject", *m.Subject, "Timestamp", m.Timestamp)
	default:
		pairs = append(pairs, "Timestamp", m.Timestamp)
	}
	pairs = append(pairs, "TopicArn", m.Topic, "Type", m.Type)
	return []byte(strings.Join(pairs, "\n") + "\n")
}

// verify tells whether the certificate's key signed the message.
func (m message) verify(by *x509.Certificate) error {
	public, ok := by.PublicKey.(*rsa.PublicKey)
	if !ok {
		return errors.New("the certificate has no RSA key")
	}
	signature, err := base64.StdEncoding.DecodeString(m.Signature)
	if err != nil {
		return errors.New("the signature is not base64")
	}
	hash, sum := crypto.SHA256, sha256.Sum256(m.signed())
	digest := sum[:]
	switch m.Version {
	case "1": // the default of a topic
		old := sha1.Sum(m.signed())
		hash, digest = crypto.SHA1, old[:]
	case "2":
	default:
		return errors.New("the signature has a version that is not known")
	}
	if rsa.VerifyPKCS1v15(public, hash, digest, signature) != nil {
		return errors.New("the signature is not the message's")
	}
	return nil
}

var (
	snsHost   = regexp.MustCompile(`^sns\.[a-z0-9-]{3,40}\.amazonaws\.com(\.cn)?$`)
	trustHost = regexp.MustCompile(`^([a-z0-9-]+\.)+amazontrust\.com$`)
)

// ofSNS is the host of an address if it leads to Amazon SNS and nowhere else.
func ofSNS(address string) (host string, ok bool) {
	u, ok := plain(address)
	return u.Host, ok && u.Scheme == "https" && snsHost.MatchString(u.Host)
}

// ofTrustServices tells whether an address leads to Amazon Trust Services, whose certificates prove themselves, so HTTP will do.
func ofTrustServices(address string) bool {
	u, ok := plain(address)
	return ok && (u.Scheme == "https" || u.Scheme == "http") && trustHost.MatchString(u.Host)
}

// plain parses an address without a user, a fragment or an opaque part. Its Host has no port, or does not match a host above.
func plain(address string) (*url.URL, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return &url.URL{}, false
	}
	return u, u.User == nil && u.Fragment == "" && u.Opaque == ""
}

func isCertificate(address string) bool {
	u, ok := plain(address)
	return ok && u.RawQuery == "" && strings.HasSuffix(u.Path, ".pem")
}

func queryOf(address string) url.Values {
	u, _ := plain(address)
	return u.Query()
}
