package hub

import (
	"container/list"
	"maps"
	"net/http"
	"sync"
)

const (
	cacheLimit = 16 << 20 // bytes
	entryLimit = 1 << 20  // a larger answer is not kept
)

// cache keeps what GitHub answered with an ETag. It is asked with that whether it still holds, which costs nothing
// of the limit. What was used longest ago goes first.
type cache struct {
	mu    sync.Mutex
	limit int
	size  int
	byURL map[string]*list.Element
	order *list.List // of entry, the newest first
}

type entry struct {
	url, tag string
	header   http.Header
	body     []byte
}

// weight counts the headers as a kilobyte, so that many small answers are bounded as well.
func (e entry) weight() int { return len(e.body) + len(e.url) + 1<<10 }

func newCache(limit int) *cache {
	return &cache{limit: limit, byURL: map[string]*list.Element{}, order: list.New()}
}

// tag is the ETag of what is known of a request, or "".
func (c *cache) tag(req *http.Request) string {
	if req.Method != http.MethodGet {
		return ""
	}
	e, _ := c.known(req.URL.String())
	return e.tag
}

func (c *cache) known(url string) (entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byURL[url]
	if !ok {
		return entry{}, false
	}
	c.order.MoveToFront(at)
	return at.Value.(entry), true
}

// exchange answers "not modified" with what is known, and keeps what is new.
func (c *cache) exchange(req *http.Request, a *answer) *answer {
	url := req.URL.String()
	switch {
	case req.Method != http.MethodGet:
	case a.StatusCode == http.StatusNotModified:
		if e, ok := c.known(url); ok {
			return e.renewed(a)
		}
	case a.StatusCode == http.StatusOK && a.Header.Get("Etag") != "" && len(a.body) <= entryLimit:
		c.keep(entry{url: url, tag: a.Header.Get("Etag"), header: a.Header.Clone(), body: a.body})
	}
	return a
}

// renewed is the kept answer with the new one's headers, such as Date.
func (e entry) renewed(a *answer) *answer {
	resp := *a.Response
	resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
	resp.Header = e.header.Clone()
	maps.Copy(resp.Header, a.Header)
	return &answer{Response: &resp, body: e.body}
}

func (c *cache) keep(e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byURL[e.url]; ok {
		c.forget(at)
	}
	c.byURL[e.url] = c.order.PushFront(e)
	c.size += e.weight()
	for c.size > c.limit {
		c.forget(c.order.Back())
	}
}

func (c *cache) forget(at *list.Element) {
	e := c.order.Remove(at).(entry)
	delete(c.byURL, e.url)
	c.size -= e.weight()
}
