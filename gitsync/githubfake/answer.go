package githubfake

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// doc is a JSON object.
type doc = map[string]any

const documentation = "https://docs.github.com/rest"

// answer is what a request comes to. A body that is []byte goes out as it is.
type answer struct {
	status int
	body   any
}

func ok(body any) answer      { return answer{http.StatusOK, body} }
func created(body any) answer { return answer{http.StatusCreated, body} }

// refuse is an error with a message.
func refuse(status int, message string) answer {
	return answer{status, doc{"message": message, "documentation_url": documentation, "status": strconv.Itoa(status)}}
}

func missing() answer { return refuse(http.StatusNotFound, "Not Found") }

// unprocessable is a 422 with a message alone.
func unprocessable(message string) answer { return refuse(http.StatusUnprocessableEntity, message) }

// invalid is a 422 of the documented form with one error.
func invalid(fault doc) answer {
	return answer{http.StatusUnprocessableEntity, doc{
		"message": "Validation Failed", "errors": []doc{fault}, "documentation_url": documentation, "status": "422",
	}}
}

// custom is invalid for an error in words.
func custom(resource, message string) answer {
	return invalid(doc{"resource": resource, "code": "custom", "message": message})
}

// field is invalid for a field: code is missing_field or invalid.
func field(resource, name, code string) answer {
	return invalid(doc{"resource": resource, "field": name, "code": code})
}

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// orNull is JSON's null for an empty text.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func encode(a answer) []byte {
	switch body := a.body.(type) {
	case nil:
		return nil
	case []byte:
		return body
	}
	b, err := json.Marshal(a.body)
	if err != nil {
		panic(err) // made here, of maps and texts
	}
	return b
}

// send writes the answer, or what the fault leaves of it.
func (s *Server) send(w http.ResponseWriter, c *call, a answer, f Fault) {
	if f.Cut {
		panic(http.ErrAbortHandler)
	}
	if f.Status != 0 {
		a = f.answer()
	}
	for name, values := range f.Header {
		c.header[http.CanonicalHeaderKey(name)] = values
	}
	data := encode(a)
	if !f.Half {
		write(w, c.header, answer{a.status, data})
		return
	}
	c.header.Set("Content-Length", strconv.Itoa(len(data)))
	write(w, c.header, answer{a.status, data[:len(data)/2]})
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// write puts an answer on the wire.
func write(w http.ResponseWriter, header http.Header, a answer) {
	data := encode(a)
	maps.Copy(w.Header(), header)
	if header.Get("Content-Type") == "" && len(data) > 0 {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	w.Header().Set("X-Github-Media-Type", "github.v3; format=json")
	w.WriteHeader(a.status)
	_, _ = w.Write(data)
}

// tagged gives a read its ETag, and 304 to who has it already. As at GitHub it is another one with another credential.
func tagged(c *call, a answer) answer {
	if c.route.writes() || a.status != http.StatusOK {
		return a
	}
	sum := sha256.Sum256(fmt.Append(encode(a), c.r.Header.Get("Authorization"), c.r.URL.String(), c.header.Get("Link")))
	tag := fmt.Sprintf(`W/"%x"`, sum)
	c.header.Set("Etag", tag)
	c.header.Set("Cache-Control", "private, max-age=60, s-maxage=60")
	c.header.Set("Vary", "Accept, Authorization, Cookie, X-GitHub-OTP")
	if c.r.Header.Get("If-None-Match") == tag {
		return answer{status: http.StatusNotModified}
	}
	return a
}

// page cuts a list to the page that is asked for, with the Link header that leads to the others.
func page[T any](c *call, all []T, usual int) []T {
	query := c.r.URL.Query()
	size, n := number(query, "per_page", usual), number(query, "page", 1)
	size = min(size, c.s.o.MaxPage, 100)
	last := max(1, (len(all)+size-1)/size)
	var links []string
	link := func(rel string, to int) {
		query.Set("page", strconv.Itoa(to))
		u := *c.r.URL
		u.RawQuery = query.Encode()
		links = append(links, fmt.Sprintf(`<%s>; rel=%q`, strings.TrimSuffix(c.s.URL(), "/")+u.RequestURI(), rel))
	}
	if n > 1 {
		link("prev", n-1)
	}
	if n < last {
		link("next", n+1)
		link("last", last)
	}
	if n > 1 {
		link("first", 1)
	}
	if len(links) > 0 {
		c.header.Set("Link", strings.Join(links, ", "))
	}
	from := min((n-1)*size, len(all))
	return all[from:min(from+size, len(all))]
}

func number(query url.Values, key string, usual int) int {
	if n, err := strconv.Atoi(query.Get(key)); err == nil && n > 0 {
		return n
	}
	return usual
}
