package notice

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// Options are what both handlers need.
type Options struct {
	// Notify is told each event once. It must return at once, and is called by several goroutines.
	Notify func(Notice)
	// Log, when set, is told in a line what has to be known: why a request was turned down, other than by its rate, and what became
	// of a subscription.
	Log func(string)
	// Limit is the size of a body in bytes. Default 256 KiB, the most that SNS and EventBridge carry.
	Limit int64
	// Rate and Burst bound the requests. Default 20 a second and 100 at once.
	Rate  rate.Limit
	Burst int
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

const (
	defaultLimit = 256 << 10
	defaultRate  = 20
	defaultBurst = 100
	remembered   = 4096
	// window is how far a message's time may be from ours.
	window = time.Hour
)

// answer is a status and what it says to a person.
type answer struct {
	status int
	text   string
}

func refuse(status int, text string) *answer { return &answer{status, text} }

// sender proves and reads what one kind of sender sends.
type sender interface {
	// admit judges a request by its header, before its body is read. Nil goes on.
	admit(*http.Request) *answer
	hear(*http.Request, []byte) *answer
}

// door is what is the same for each sender.
type door struct {
	Options
	sender  sender
	limiter *rate.Limiter
	seen    *lru.Cache[string, struct{}]
}

func newDoor(o Options) *door {
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
	if o.Log == nil {
		o.Log = func(string) {}
	}
	seen, _ := lru.New[string, struct{}](remembered) // fails for no size only
	return &door{Options: o, limiter: rate.NewLimiter(o.Rate, o.Burst), seen: seen}
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		d.reply(w, refuse(http.StatusMethodNotAllowed, "only POST is understood"))
		return
	}
	if wait := d.wait(); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
	d.reply(w, d.judge(w, r))
}

// wait is how long until another request is within the rate, zero for now.
func (d *door) wait() time.Duration {
	now := d.Now()
	turn := d.limiter.ReserveN(now, 1)
	delay := turn.DelayFrom(now)
	if delay > 0 {
		turn.CancelAt(now)
	}
	return delay
}

func (d *door) judge(w http.ResponseWriter, r *http.Request) *answer {
	if no := d.sender.admit(r); no != nil {
		return no
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, d.Limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is over %d bytes", large.Limit))
	case err != nil:
		return refuse(http.StatusBadRequest, "the body did not arrive whole")
	}
	return d.sender.hear(r, body)
}

func (d *door) reply(w http.ResponseWriter, a *answer) {
	if a.status >= http.StatusBadRequest {
		d.Log(fmt.Sprintf("refused a request (%d): %s", a.status, a.text))
	}
	http.Error(w, a.text, a.status)
}

// timely tells whether a message is of this hour.
func (d *door) timely(at time.Time) bool { return d.Now().Sub(at).Abs() <= window }

// first tells whether a message was not here before, and remembers it.
func (d *door) first(id string) bool {
	before, _ := d.seen.ContainsOrAdd(id, struct{}{})
	return !before
}

// forget makes a message welcome again.
func (d *door) forget(id string) { d.seen.Remove(id) }

// pass tells an event that was heard.
func (d *door) pass(n Notice) *answer {
	d.Notify(n)
	return &answer{http.StatusOK, "heard"}
}

func replayed() *answer { return &answer{http.StatusAccepted, "this was here before"} }
