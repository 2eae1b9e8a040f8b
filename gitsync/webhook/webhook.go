package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// Options say whom to believe and whom to tell.
type Options struct {
	// Secrets returns the secrets of the webhook, asked on each request. Empty ones do not count.
	Secrets func(context.Context) ([][]byte, error)
	// Notify is told each event once. It must return at once, and is called by several goroutines.
	Notify func(Event)
	// Refused, when set, is told for the log why a request was turned down, other than by its rate.
	Refused func(why string)
	// Limit is the size of a body in bytes. Default 1 MiB; GitHub's reach 25 MB, for which polling is there.
	Limit int64
	// Rate and Burst bound the requests. Default 20 a second and 100 at once.
	Rate  rate.Limit
	Burst int
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

const (
	defaultLimit = 1 << 20
	defaultRate  = 20
	defaultBurst = 100
	remembered   = 4096
)

type handler struct {
	Options
	limiter *rate.Limiter
	seen    *lru.Cache[string, struct{}]
}

// Handler answers GitHub's webhook at whatever path it is mounted.
func Handler(o Options) http.Handler {
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	if o.Rate <= 0 {
		o.Rate = defaultRate
	}
	if o.Burst <= 0 {
		o.Burst = defaultBurst
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	seen, _ := lru.New[string, struct{}](2 * remembered) // two keys a delivery; fails for no size only
	return &handler{Options: o, limiter: rate.NewLimiter(o.Rate, o.Burst), seen: seen}
}

// answer is a status and what it says to a person who reads GitHub's list of deliveries.
type answer struct {
	status int
	text   string
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		h.reply(w, answer{http.StatusMethodNotAllowed, "only POST is understood"})
		return
	}
	if wait := h.wait(); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
	h.reply(w, h.judge(w, r))
}

func (h *handler) reply(w http.ResponseWriter, a answer) {
	if a.status >= http.StatusBadRequest && h.Refused != nil {
		h.Refused(a.text)
	}
	http.Error(w, a.text, a.status)
}

// wait is how long until another request is within the rate, zero for now.
func (h *handler) wait() time.Duration {
	now := h.Now()
	turn := h.limiter.ReserveN(now, 1)
	delay := turn.DelayFrom(now)
	if delay > 0 {
		turn.CancelAt(now)
	}
	return delay
}

func (h *handler) judge(w http.ResponseWriter, r *http.Request) answer {
	form, ok := isForm(r.Header.Get("Content-Type"))
	if !ok {
		return answer{http.StatusUnsupportedMediaType, "the content type is neither application/json nor application/x-www-form-urlencoded"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.Limit))
	if err != nil {
		return unread(err)
	}
	signature, bad := h.authentic(r, body)
	if bad != nil {
		return *bad
	}
	return h.hear(r.Header, form, body, signature)
}

// isForm tells a form from JSON; ok is false for anything else.
func isForm(contentType string) (form, ok bool) {
	kind, _, err := mime.ParseMediaType(contentType)
	form = kind == "application/x-www-form-urlencoded"
	return form, err == nil && (form || kind == "application/json")
}

func unread(err error) answer {
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return answer{http.StatusRequestEntityTooLarge, "the body is over " + strconv.FormatInt(large.Limit, 10) + " bytes"}
	}
	return answer{http.StatusBadRequest, "the body did not arrive whole"}
}

// authentic returns the signature when it is the body's under one of the secrets, else why not.
func (h *handler) authentic(r *http.Request, body []byte) (string, *answer) {
	secrets, err := h.secrets(r.Context())
	if err != nil || len(secrets) == 0 {
		return "", &answer{http.StatusServiceUnavailable, "the webhook's secret cannot be read here"}
	}
	text, prefixed := strings.CutPrefix(r.Header.Get("X-Hub-Signature-256"), "sha256=")
	signature, err := hex.DecodeString(text)
	if !prefixed || err != nil {
		return "", &answer{http.StatusUnauthorized, "there is no X-Hub-Signature-256; set a secret at the webhook"}
	}
	match := false
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		match = hmac.Equal(mac.Sum(nil), signature) || match
	}
	if !match {
		return "", &answer{http.StatusUnauthorized, "the signature is not of the secret that is configured here"}
	}
	return hex.EncodeToString(signature), nil
}

func (h *handler) secrets(ctx context.Context) (usable [][]byte, err error) {
	if h.Secrets == nil {
		return nil, nil
	}
	all, err := h.Secrets(ctx)
	for _, secret := range all {
		if len(secret) > 0 {
			usable = append(usable, secret)
		}
	}
	return usable, err
}

// hear reads an authentic delivery and passes it on.
func (h *handler) hear(header http.Header, form bool, body []byte, signature string) answer {
	id, event := header.Get("X-GitHub-Delivery"), header.Get("X-GitHub-Event")
	if id == "" || event == "" {
		return answer{http.StatusBadRequest, "X-GitHub-Delivery or X-GitHub-Event is missing"}
	}
	kind, known := kindOf(event)
	if !known {
		return answer{http.StatusAccepted, "this event is not needed here"}
	}
	payload, err := unwrap(form, body)
	if err != nil {
		return answer{http.StatusBadRequest, err.Error()}
	}
	e, err := parse(kind, payload)
	if err != nil {
		return answer{http.StatusBadRequest, err.Error()}
	}
	if !h.first(id, signature) {
		return answer{http.StatusAccepted, "this delivery was here before"}
	}
	h.Notify(e)
	return answer{http.StatusOK, "heard"}
}

// first tells whether neither the id nor the signature was here before, and remembers both.
func (h *handler) first(id, signature string) bool {
	byID, _ := h.seen.ContainsOrAdd("id "+id, struct{}{})
	bySignature, _ := h.seen.ContainsOrAdd("signature "+signature, struct{}{})
	return !byID && !bySignature
}

// unwrap is the JSON of a body.
func unwrap(form bool, body []byte) ([]byte, error) {
	if !form {
		return body, nil
	}
	values, err := url.ParseQuery(string(body))
	if err != nil || len(values["payload"]) != 1 {
		return nil, errors.New("the form has not one payload")
	}
	return []byte(values.Get("payload")), nil
}
