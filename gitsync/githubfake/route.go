package githubfake

import (
	"net/http"
	"strings"
)

// route is one operation of the API.
type route struct {
	// name is how tests call it: the method, and the path below the repository ("POST pulls", "PATCH git/refs/{ref}").
	name string
	// path is the pattern below the server, for http.ServeMux.
	method, path string
	// scope and level are the permission that an App needs.
	scope, level string
	// query are the parameters that are known; per_page and page are those of lists.
	query []string
	// lag is the kind of read that may be of yesterday.
	lag Lagging
	// data is Git data: there is none in an empty repository.
	data bool
	// jwt is for an App itself rather than one of its installations.
	jwt bool
	// self is not about the repository.
	self   bool
	handle func(*call) answer
}

func (r route) writes() bool { return r.method != http.MethodGet }

// content is what GitHub calls creating content; minting a token is not.
func (r route) content() bool { return r.writes() && !r.jwt }

var paged = []string{"per_page", "page"}

// routes is the whole API.
func routes() []route {
	var all []route
	for _, group := range [][]route{gitRoutes(), repositoryRoutes(), pullRoutes(), issueRoutes()} {
		for _, r := range group {
			r.name = r.method + " " + strings.ReplaceAll(r.path, "...", "")
			if r.path == "" {
				r.name, r.path = r.method+" repository", "/repos/{owner}/{repo}"
			} else {
				r.path = "/repos/{owner}/{repo}/" + r.path
			}
			all = append(all, r)
		}
	}
	for _, r := range selfRoutes() {
		r.name, r.path, r.self = r.method+" "+r.path, "/"+r.path, true
		all = append(all, r)
	}
	return all
}

func gitRoutes() []route {
	get := func(path string, lag Lagging, handle func(*call) answer, query ...string) route {
		return route{
			method: "GET", path: path, scope: "contents", level: "read",
			lag: lag, handle: handle, query: query, data: true,
		}
	}
	write := func(method, path string, handle func(*call) answer) route {
		return route{method: method, path: path, scope: "contents", level: "write", handle: handle, data: true}
	}
	return []route{
		get("git/ref/{ref...}", Refs, getRef),
		get("git/commits/{sha}", never, getGitCommit),
		get("git/trees/{sha...}", never, getTree, "recursive"),
		get("git/blobs/{sha}", never, getBlob),
		get("commits", never, listCommits, append(paged, "sha")...),
		get("commits/{sha}", never, getCommit, paged...),
		get("compare/{basehead...}", never, compare, paged...),
		write("POST", "git/blobs", createBlob),
		write("POST", "git/trees", createTree),
		write("POST", "git/commits", createCommit),
		write("POST", "git/refs", createRef),
		write("PATCH", "git/refs/{ref...}", updateRef),
		write("DELETE", "git/refs/{ref...}", deleteRef),
		write("POST", "merges", mergeBranch),
	}
}

func repositoryRoutes() []route {
	return []route{
		{method: "GET", path: "", scope: "metadata", level: "read", handle: getRepository},
		{method: "GET", path: "branches/{branch...}", scope: "contents", level: "read", lag: Refs, handle: getBranch},
		{method: "GET", path: "rules/branches/{branch...}", scope: "metadata", level: "read", handle: getRules, query: paged},
		{
			method: "GET", path: "commits/{sha}/check-suites", scope: "checks", level: "read", handle: listSuites,
			query: append(paged, "app_id", "check_name"),
		},
		{
			method: "GET", path: "commits/{sha}/check-runs", scope: "checks", level: "read", handle: listRuns,
			query: append(paged, "filter"),
		},
		{method: "GET", path: "commits/{sha}/status", scope: "statuses", level: "read", handle: getStatus, query: paged},
		{method: "GET", path: "installation", jwt: true, handle: getInstallation},
	}
}

func pullRoutes() []route {
	of := func(method, path, level string, lag Lagging, handle func(*call) answer, query ...string) route {
		return route{method: method, path: path, scope: "pull_requests", level: level, lag: lag, handle: handle, query: query}
	}
	return []route{
		of("GET", "pulls", "read", Pulls, listPulls, append(paged, "state", "head", "base", "sort", "direction")...),
		of("GET", "pulls/{number}", "read", Pulls, getPull),
		of("POST", "pulls", "write", never, createPull),
		of("PATCH", "pulls/{number}", "write", never, updatePull),
		{method: "PUT", path: "pulls/{number}/merge", scope: "contents", level: "write", handle: mergePull},
		of("POST", "pulls/{number}/requested_reviewers", "write", never, requestReview),
	}
}

// issueRoutes are the ones that a pull request has because it is an issue too.
func issueRoutes() []route {
	of := func(method, path, level string, handle func(*call) answer, query ...string) route {
		return route{method: method, path: path, scope: "pull_requests", level: level, handle: handle, query: query}
	}
	return []route{
		of("GET", "issues/{number}", "read", getIssue),
		of("GET", "issues/{number}/comments", "read", listComments, append(paged, "since")...),
		of("POST", "issues/{number}/comments", "write", createComment),
		of("POST", "issues/{number}/labels", "write", addLabels),
		of("POST", "issues/{number}/assignees", "write", addAssignees),
	}
}

func selfRoutes() []route {
	return []route{
		{method: "GET", path: "user", handle: getUser},
		{method: "GET", path: "app", jwt: true, handle: getApp},
		{method: "POST", path: "app/installations/{id}/access_tokens", jwt: true, handle: createToken},
		{method: "POST", path: "graphql", scope: "pull_requests", level: "write", handle: graphql},
	}
}
