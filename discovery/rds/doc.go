// Package rds asks AWS what it knows of a cluster's instances: zone, class,
// physical identity (DbiResourceId) and status. It is an enrichment: nothing
// that a failover needs waits for it, and nothing here moves a writer.
//
//	region := rds.NewRegion(config)             // one for all clusters of a region
//	enricher := region.Cluster("example-pg", time.Minute)
//	go enricher.Run(ctx)
//	enricher.Metadata()                         // returns at once, always
//
// # Rules
//
//  1. Metadata answers from memory. It is nil until the first attempt has come
//     to an end.
//  2. A refresh is DescribeDBClusters, then DescribeDBInstances, both filtered by
//     the cluster and read page by page to the end. Rows of other clusters are
//     dropped all the same. More than 50 pages, or a marker that comes back, is
//     an error: a partial list is never taken for the whole.
//  3. An instance that either call names is a member, so that a list which runs
//     behind the other excludes nobody.
//  4. All clusters of a region share one client, one call at a time and one call
//     a second. A cluster costs two calls each refresh, so that from 30 clusters
//     on a round takes longer than the default interval of one minute.
//  5. Throttled: the whole region rests, for 2 s at first and twice as long each
//     time up to 2 minutes, with jitter. The SDK's own retries are off: they
//     would multiply the calls exactly when there are too many. When the rest
//     is over the cluster whose turn it was asks again, once.
//  6. Denied, no credentials, no answer within 10 s, not found: tried again at
//     the next interval.
//  7. After any failure the last good answer stays, marked stale, with the
//     reason. So it does when its age passes five intervals, whatever the cause.
//  8. Refresh pulls the next attempt forward, to no earlier than 10 s after the
//     attempt before, and never into a rest.
//
// # IAM tokens
//
// Tokens signs RDS authentication tokens, which take a password's place. Signing
// is arithmetic, but the credentials to sign with may have to be fetched. Run
// keeps them fetched, so that a failover finds them ready.
package rds
