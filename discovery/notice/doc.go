// Package notice hears from AWS that something happened to an instance or a cluster, so that discovery looks at once.
//
//	http.Handle("/hooks/sns", notice.SNS(notice.SNSOptions{Topics: topics, Options: notice.Options{Notify: wake}}))
//	http.Handle("/hooks/cloudevents", notice.CloudEvents(notice.CloudEventsOptions{Secrets: readSecrets, Options: …}))
//
// A [Notice] is a reason to look, never evidence: RDS sends its events on a best effort, late and out of order, and often after the
// connection to the old writer broke. Who is the writer only the instances say.
//
// # Rules for both, in the order in which they apply
//
//  1. Only POST: else 405.
//  2. More requests than the rate allows: 429 with Retry-After. The rate holds for everybody together and comes before any
//     proof, so that strangers cost no more than it allows.
//  3. A body over the size limit: 413, without reading on.
//  4. The sender's proof, below.
//  5. What was heard before: 202, and nothing happens. The newest 4,096 are remembered.
//  6. Notify, then 200. An event that is authentic and about nothing we know is a 202, which tells the sender not to try again.
//
// A temporary trouble of ours is a 5xx, which SNS and EventBridge try again. What is wrong with a request is a 4xx, which they do not.
//
// # Amazon SNS
//
//  1. A message is JSON with each field that its signature covers; none but Message has a line break, or the signed text could be
//     read in two ways. Raw delivery has no signature and is refused.
//  2. The topic is one of Topics, to the letter: else 403. Anybody can have a topic that SNS signs for.
//  3. Timestamp is within an hour of now. SNS does not try for longer.
//  4. SigningCertURL is https://sns.REGION.amazonaws.com(.cn)/….pem. What it leads to has to be valid now, for that host or for
//     sns.amazonaws.com, and its chain has to end at a trusted root. Issuers that the file lacks are fetched where the certificates
//     name them, from Amazon Trust Services only. Certificates are kept, 16 of them, and judged anew on each use.
//  5. Signature is the RSA signature of the fields in their documented order: SHA-1 for version 1, SHA-256 for version 2.
//  6. A SubscriptionConfirmation is confirmed by a GET of SubscribeURL, if that is of the same hosts and for this topic and token. An
//     UnsubscribeConfirmation is told to Log: confirming that one would subscribe again.
//
// # CloudEvents
//
//  1. The shared secret, as a bearer token or in a header of its own, compared in constant time: else 401. Secrets are read on each
//     request, and two may hold at once. Without any nobody is believed: 503.
//  2. A CloudEvents 1.0 event in structured or binary mode, its data JSON; or the event as EventBridge sends it when nothing
//     transforms it. Batches: 415.
//  3. Its time, if it has one, is within an hour of now.
//  4. Heard before means the same source and id.
//
// # Events
//
// An RDS event is read in each of its forms: as RDS publishes it to a topic, and as EventBridge has it. Its source is what its ARN
// says, else what its identifier and type say. Which ids matter is in events.go.
package notice
