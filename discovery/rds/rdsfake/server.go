package rdsfake

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// Instance is a DB instance as the API would describe it.
type Instance struct {
	ID       string
	Cluster  string // the DBClusterIdentifier it belongs to
	Resource string // DbiResourceId
	Zone     string
	Class    string
	Status   string // default available
	Writer   bool
	// Unlisted leaves it out of DescribeDBClusters' members, as for a moment
	// after it was created.
	Unlisted bool
	// Undescribed leaves it out of DescribeDBInstances.
	Undescribed bool
}

// Faults are what is wrong with the API. The zero value is nothing.
type Faults struct {
	// Code, when set, is the error that every call gets, with Message.
	Code, Message string
	// Status of an error. Default 400, which RDS sends also when it throttles.
	Status int
	// Delay before every answer.
	Delay time.Duration
	// Hang: no answer until the client gives up.
	Hang bool
	// EndlessMarkers: every page names a further one.
	EndlessMarkers bool
	// RepeatedMarker: every page names the same further one.
	RepeatedMarker bool
	// IgnoreFilters returns the instances and clusters of everybody.
	IgnoreFilters bool
}

// Throttled are the faults of an API that is called too often.
func Throttled() Faults { return Faults{Code: "Throttling", Message: "Rate exceeded"} }

// Denied are the faults of an API that the caller's role may not use.
func Denied() Faults {
	return Faults{Code: "AccessDenied", Message: "User: arn:aws:sts::123456789012:assumed-role/test is not authorized to perform: rds:DescribeDBClusters"}
}

// Server is the API of one region.
type Server struct {
	region string

	mu        sync.Mutex
	instances []Instance
	pageSize  int
	faults    Faults
	calls     []Call
	refusals  []string
}

// Call is one request that was let in, whatever it was answered.
type Call struct {
	Action string
	At     time.Time
}

// New makes an API without instances.
func New(region string) *Server { return &Server{region: region, pageSize: 100} }

// SetInstances replaces all instances. They are listed in this order.
func (s *Server) SetInstances(instances ...Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instances = slices.Clone(instances)
}

// SetPageSize makes pages smaller than MaxRecords asks for, as the API may.
func (s *Server) SetPageSize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pageSize = n
}

// SetFaults replaces what is wrong.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Calls returns the calls so far, oldest first.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Refusals returns what was refused because it is not what poolwright sends.
func (s *Server) Refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refusals)
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, err := s.read(r)
	if err != nil {
		s.refuse(w, err)
		return
	}
	f := s.admit(q)
	if !wait(r, f) {
		return
	}
	if f.Code != "" {
		writeError(w, f)
		return
	}
	page, err := s.answer(q, f)
	if err != nil {
		s.refuse(w, err)
		return
	}
	writeXML(w, http.StatusOK, page)
}

// admit counts a call and returns the faults it meets.
func (s *Server) admit(q query) Faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, Call{q.action, time.Now()})
	return s.faults
}

func (s *Server) refuse(w http.ResponseWriter, err error) {
	s.mu.Lock()
	s.refusals = append(s.refusals, err.Error())
	s.mu.Unlock()
	writeError(w, Faults{Code: "InvalidParameterValue", Message: err.Error()})
}

// wait reports whether there is to be an answer.
func wait(r *http.Request, f Faults) bool {
	if f.Hang {
		<-r.Context().Done()
		return false
	}
	timer := time.NewTimer(f.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
