package githubfake

import (
	"cmp"
	"maps"
	"slices"
)

// Check is a check run of a commit.
type Check struct {
	Name string
	// Status is queued, in_progress or completed (default); Conclusion, of a completed one, is success by default.
	Status, Conclusion string
	// App is the slug of the App that runs it, "ci" by default; all runs of an App are one suite.
	App string
}

func (k Check) complete() Check {
	k.Status, k.App = cmp.Or(k.Status, "completed"), cmp.Or(k.App, "ci")
	if k.Status == "completed" {
		k.Conclusion = cmp.Or(k.Conclusion, "success")
	}
	return k
}

// SetChecks sets the check runs of a commit, in place of those it had. No runs are no suites.
func (s *Server) SetChecks(sha string, checks ...Check) {
	s.t.Helper()
	s.do(outside, func() {
		s.checks[sha] = nil
		for _, k := range checks {
			s.checks[sha] = append(s.checks[sha], k.complete())
		}
	})
}

// SetStatus sets a commit status: state is pending, success, failure or error.
func (s *Server) SetStatus(sha, context, state string) {
	s.t.Helper()
	s.do(outside, func() {
		if s.states[sha] == nil {
			s.states[sha] = map[string]string{}
		}
		s.states[sha][context] = state
	})
}

// contextState is success, pending, another word for a failure, or "" for a check that has not begun.
func (s *Server) contextState(sha, name string) string {
	for _, k := range s.checks[sha] {
		switch {
		case k.Name != name:
		case k.Status != "completed":
			return "pending"
		case slices.Contains([]string{"success", "neutral", "skipped"}, k.Conclusion):
			return "success"
		default:
			return k.Conclusion
		}
	}
	return s.states[sha][name]
}

func (c *call) checked() (string, bool) { return c.resolve(c.r.PathValue("sha")) }

func listRuns(c *call) answer {
	sha, found := c.checked()
	if !found {
		return unprocessable("No commit found for SHA: " + sha)
	}
	all := []doc{}
	for i, k := range c.s.checks[sha] {
		all = append(all, doc{
			"id": 9000 + i, "head_sha": sha, "node_id": "CR_test", "name": k.Name, "status": k.Status, "conclusion": orNull(k.Conclusion),
			"check_suite": doc{"id": c.s.id("suite " + sha + k.App)}, "app": c.s.checkApp(k.App), "pull_requests": []doc{},
			"url": c.s.address("check-runs/%d", 9000+i), "html_url": c.s.page("runs/%d", 9000+i), "started_at": nil, "completed_at": nil,
		})
	}
	return ok(doc{"total_count": len(all), "check_runs": page(c, all, 30)})
}

func (s *Server) checkApp(slug string) doc {
	return doc{"id": s.id("app " + slug), "slug": slug, "name": slug}
}

func listSuites(c *call) answer {
	sha, found := c.checked()
	if !found {
		return unprocessable("No commit found for SHA: " + sha)
	}
	runs := map[string][]Check{}
	for _, k := range c.s.checks[sha] {
		runs[k.App] = append(runs[k.App], k)
	}
	all := []doc{}
	for _, app := range slices.Sorted(maps.Keys(runs)) {
		status, conclusion := "completed", "success"
		for _, k := range runs[app] {
			if k.Status != "completed" {
				status, conclusion = k.Status, ""
				break
			}
			if c.s.contextState(sha, k.Name) != "success" {
				conclusion = k.Conclusion
			}
		}
		all = append(all, doc{
			"id": c.s.id("suite " + sha + app), "head_sha": sha, "status": status, "conclusion": orNull(conclusion), "app": c.s.checkApp(app),
			"latest_check_runs_count": len(runs[app]), "pull_requests": []doc{}, "node_id": "CS_test",
		})
	}
	return ok(doc{"total_count": len(all), "check_suites": page(c, all, 30)})
}

func getStatus(c *call) answer {
	sha, found := c.checked()
	if !found {
		return missing()
	}
	all, state := []doc{}, "success"
	for _, context := range slices.Sorted(maps.Keys(c.s.states[sha])) {
		one := c.s.states[sha][context]
		all = append(all, doc{"context": context, "state": one, "description": nil, "target_url": nil})
		if one == "pending" && state == "success" {
			state = "pending"
		} else if one != "success" && one != "pending" {
			state = "failure"
		}
	}
	if len(all) == 0 {
		state = "pending"
	}
	return ok(doc{
		"state": state, "sha": sha, "total_count": len(all), "statuses": page(c, all, 30), "url": c.s.address("commits/%s/status", sha),
		"repository": c.s.repository(nil),
	})
}
