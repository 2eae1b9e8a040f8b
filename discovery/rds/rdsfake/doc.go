// Package rdsfake is a stand-in for the RDS API in tests: the query protocol of
// version 2014-10-31, two actions, nothing else.
//
// It is strict. A request that is not signed, names another action, or carries a
// parameter that it does not know gets an error, and the refusal is recorded: a
// test looks at Refusals to see that nothing went unnoticed.
//
//   - DescribeDBClusters and DescribeDBInstances, each with Filters (db-cluster-id
//     only), MaxRecords and Marker.
//   - Pages: a marker is opaque, belongs to its action and is refused elsewhere.
//   - Faults: throttled, denied, slow, no answer at all, markers without end, a
//     filter that is ignored.
//
// A Server is an http.Handler. Config gives an aws.Config whose requests reach it
// without a socket, for tests with a clock of their own (testing/synctest);
// httptest.NewServer makes a real server of it.
package rdsfake
