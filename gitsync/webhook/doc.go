// Package webhook hears from GitHub that a repository has changed, so that nobody waits for the next poll.
//
//	http.Handle("/hooks/github", webhook.Handler(webhook.Options{Secrets: readSecrets, Notify: wake}))
//
// What is heard is a reason to look, never a fact to act on: a delivery can be late, lost or out of order. Polling stays the net.
//
// # Rules, in the order in which they apply
//
//  1. Only POST: else 405.
//  2. More requests than the rate allows: 429 with Retry-After. The rate holds for everybody together and comes before the
//     signature, so that strangers cost no more than it allows.
//  3. A body that is neither JSON nor a form: 415. One over the size limit: 413, without reading on.
//  4. X-Hub-Signature-256 is the body's HMAC-SHA-256 under one of the secrets, compared in constant time: else 401. Secrets are
//     read on each request, and two may hold at once while one takes the other's place. Without any nobody is believed: 503.
//  5. No X-GitHub-Delivery or X-GitHub-Event, or a body that does not say what its event has to: 400. Fields nobody needs are not
//     looked at.
//  6. Another event than push, pull_request and ping: 202, and nothing happens.
//  7. A delivery that was here before, by its id or by its signature, which unlike the id cannot be made up: 202, and nothing
//     happens. The newest 4,096 are remembered.
//  8. Notify, then 200. GitHub gives an answer 10 seconds, so Notify only passes the event on.
package webhook
