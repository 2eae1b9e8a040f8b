package rdsfake

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// query is a request that is understood.
type query struct {
	action     string
	clusters   []string // the filter's values; none is no filter
	maxRecords int
	offset     int // from the marker
}

var filterValue = regexp.MustCompile(`^Filters\.Filter\.1\.Values\.Value\.[1-9][0-9]*$`)

// read takes a request apart and refuses all that is not expected of it.
func (s *Server) read(r *http.Request) (query, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/" || r.URL.RawQuery != "" {
		return query{}, fmt.Errorf("%s %s: want POST /", r.Method, r.URL)
	}
	if err := s.checkSignature(r.Header.Get("Authorization")); err != nil {
		return query{}, err
	}
	if err := r.ParseForm(); err != nil {
		return query{}, fmt.Errorf("reading the form: %w", err)
	}
	return parse(r.PostForm)
}

// checkSignature looks at the form of a signature, not at its arithmetic.
func (s *Server) checkSignature(header string) error {
	scope := "/" + s.region + "/rds/aws4_request"
	if !strings.HasPrefix(header, "AWS4-HMAC-SHA256 Credential=") || !strings.Contains(header, scope) {
		return fmt.Errorf("not signed for %s", scope)
	}
	return nil
}

func parse(form url.Values) (query, error) {
	q := query{maxRecords: 100}
	for _, key := range slices.Sorted(maps.Keys(form)) {
		if len(form[key]) != 1 {
			return query{}, fmt.Errorf("parameter %s is there %d times", key, len(form[key]))
		}
		if err := q.set(key, form[key][0]); err != nil {
			return query{}, fmt.Errorf("parameter %s: %w", key, err)
		}
	}
	if q.action == "" || form.Get("Version") == "" {
		return query{}, errors.New("no Action or no Version")
	}
	if form.Get("Marker") != "" && !strings.HasPrefix(form.Get("Marker"), q.action+":") {
		return query{}, fmt.Errorf("marker %q is not of %s", form.Get("Marker"), q.action)
	}
	return q, nil
}

func (q *query) set(key, value string) (err error) {
	switch {
	case key == "Version" && value == "2014-10-31":
	case key == "Action" && (value == "DescribeDBClusters" || value == "DescribeDBInstances"):
		q.action = value
	case key == "MaxRecords":
		q.maxRecords, err = strconv.Atoi(value)
		if err == nil && (q.maxRecords < 20 || q.maxRecords > 100) {
			err = errors.New("not in 20..100")
		}
	case key == "Marker":
		_, offset, _ := strings.Cut(value, ":")
		q.offset, err = strconv.Atoi(offset)
		if err == nil && q.offset < 0 {
			err = errors.New("negative")
		}
	case key == "Filters.Filter.1.Name" && value == "db-cluster-id":
	case filterValue.MatchString(key):
		q.clusters = append(q.clusters, value)
	default:
		err = fmt.Errorf("value %q is not known here", value)
	}
	return err
}
