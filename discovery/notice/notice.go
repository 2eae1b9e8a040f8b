package notice

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// Notice is one event of RDS.
type Notice struct {
	// Source is the name of the instance or cluster, in lower case.
	Source string
	// Of says which of the two it is: their names are independent.
	Of Resource
	// Region as the ARN has it. Empty when there was no ARN.
	Region string
	Kind   Kind
	// EventID as AWS numbers it: "RDS-EVENT-0071".
	EventID string
	// Message is AWS's text in one line, at most 300 bytes.
	Message string
	// At is when it happened, by AWS's clock; when the event does not say, when it was sent.
	At time.Time
}

// Resource is what an event is about.
type Resource uint8

// The resources.
const (
	Instance Resource = iota + 1 // "instance"
	Cluster                      // "cluster"
)

// String returns "instance" or "cluster".
func (r Resource) String() string { return word(",instance,cluster", r) }

// Kind is the closed set of what a notice can mean.
type Kind uint8

// The kinds.
const (
	Other               Kind = iota // "other"
	Failover                        // "failover": the writer is about to change, changes, has changed, or did not after all
	Availability                    // "availability": it stopped, started, restarted, recovered or failed
	Creation                        // "creation"
	Deletion                        // "deletion"
	ConfigurationChange             // "configuration-change"
)

// String returns the kind's word, "failover" for Failover.
func (k Kind) String() string {
	return word("other,failover,availability,creation,deletion,configuration-change", k)
}

func word[E ~uint8](words string, e E) string {
	list := strings.Split(words, ",")
	if int(e) >= len(list) {
		return fmt.Sprintf("(%d)", e)
	}
	return list[e]
}

// errOther: well formed, and about nothing we know.
var errOther = errors.New("this is no RDS event of an instance or a cluster")

// published is an event as RDS publishes it to a topic.
type published struct {
	Source  string `json:"Event Source"` // db-instance, db-cluster
	Time    string `json:"Event Time"`
	ID      string `json:"Source ID"`
	ARN     string `json:"Source ARN"`
	Event   string `json:"Event ID"` // the address of a page that ends in #RDS-EVENT-0071
	Message string `json:"Event Message"`
}

// bridged is an event as EventBridge has it, around its detail.
type bridged struct {
	ID     string          `json:"id"`
	Type   string          `json:"detail-type"` // RDS DB Instance Event, RDS DB Cluster Event
	Source string          `json:"source"`      // aws.rds
	Time   string          `json:"time"`
	Detail json.RawMessage `json:"detail"`
}

// detail is the inner part of an event of EventBridge.
type detail struct {
	Categories []string `json:"EventCategories"`
	Type       string   `json:"SourceType"` // DB_INSTANCE, CLUSTER
	ARN        string   `json:"SourceArn"`
	ID         string   `json:"SourceIdentifier"`
	Time       string   `json:"Date"`
	Event      string   `json:"EventID"`
	Message    string   `json:"Message"`
}

// forms tells the forms of an event apart.
type forms struct {
	Published *string         `json:"Event ID"`
	Bridged   json.RawMessage `json:"detail"`
	Detail    *string         `json:"EventID"`
}

// parse reads an event in any of its forms. sent is the time of one that does not say when it happened.
func parse(text []byte, sent time.Time) (Notice, error) {
	var f forms
	if err := json.Unmarshal(text, &f); err != nil {
		return Notice{}, errors.New("the event is no JSON object")
	}
	var d detail
	switch {
	case f.Published != nil:
		var p published
		if err := json.Unmarshal(text, &p); err != nil {
			return Notice{}, errShape
		}
		d = detail{Type: p.Source, ARN: p.ARN, ID: p.ID, Time: p.Time, Event: p.Event, Message: p.Message}
	case f.Bridged != nil:
		var b bridged
		if err := json.Unmarshal(text, &b); err != nil {
			return Notice{}, errShape
		}
		if b.Source != "aws.rds" || !isRDSType(b.Type) {
			return Notice{}, errOther
		}
		text = b.Detail
		fallthrough
	case f.Detail != nil:
		if err := json.Unmarshal(text, &d); err != nil {
			return Notice{}, errShape
		}
	default:
		return Notice{}, errOther
	}
	return d.notice(sent)
}

var errShape = errors.New("the event has not the shape of an RDS event")

func isRDSType(t string) bool { return t == "RDS DB Instance Event" || t == "RDS DB Cluster Event" }

var (
	resourceName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	regionName   = regexp.MustCompile(`^[a-z0-9-]{3,40}$`)
	eventID      = regexp.MustCompile(`(?:^|#)(RDS-EVENT-[0-9]{4})$`)
)

func (d detail) notice(sent time.Time) (Notice, error) {
	of, region, name := d.source()
	if of == 0 {
		return Notice{}, errOther
	}
	id := eventID.FindStringSubmatch(d.Event)
	if id == nil || !resourceName.MatchString(name) {
		return Notice{}, errShape
	}
	return Notice{
		Source: name, Of: of, Region: region, Kind: kindOf(id[1], d.Categories), EventID: id[1],
		Message: line(d.Message), At: moment(d.Time, sent),
	}, nil
}

// source is what the ARN names, else what type and identifier say. The type decides when there is no ARN; zero is neither.
func (d detail) source() (of Resource, region, name string) {
	// arn:aws:rds:REGION:ACCOUNT:db:NAME
	part := strings.SplitN(d.ARN, ":", 7)
	if len(part) == 7 && part[0] == "arn" && part[2] == "rds" && regionName.MatchString(part[3]) {
		switch part[5] {
		case "db":
			return Instance, part[3], strings.ToLower(part[6])
		case "cluster":
			return Cluster, part[3], strings.ToLower(part[6])
		}
		return 0, "", ""
	}
	switch d.Type {
	case "db-instance", "DB_INSTANCE":
		of = Instance
	case "db-cluster", "CLUSTER", "DB_CLUSTER":
		of = Cluster
	}
	return of, "", strings.ToLower(strings.TrimPrefix(d.ID, "rds:"))
}

// moment reads AWS's two ways to write a time, both UTC.
func moment(text string, otherwise time.Time) time.Time {
	for _, layout := range []string{time.RFC3339, time.DateTime} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC()
		}
	}
	return otherwise.UTC()
}

const lineLimit = 300

// line is a text fit for one line of a log.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > lineLimit {
		text = strings.ToValidUTF8(text[:lineLimit], "")
	}
	return text
}
