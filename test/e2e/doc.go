// Package e2e drives poolwright from outside on a real Kubernetes: etcd, API server,
// controller manager, Flux and Argo CD of the test bed, and real PostgreSQL. Its
// tests have the build tag e2e and run inside a world of test/bed: `make e2e`.
//
// # Rules
//
//  1. A test is a story in a namespace of its own: three PostgreSQL servers, a repository, a Cluster file, and a
//     poolwright which is a ServiceAccount with exactly the rights that `poolwright gitops-config` prints.
//  2. TestCore... need no GitOps tool: what applies a commit there is kubectl, when the test says so. TestFlux... and
//     TestArgo... have the real one, with its default settings.
//  3. poolwright reaches the API server through a gate that knows each request and may stop the world at one: it is
//     killed exactly before or after the n-th write, and no hook is in the product for it.
//  4. Every wait is for something that a watch shows, and ends in a failure after driver.Patience.
//  5. The whole history of the Services and of their EndpointSlices is kept from watches, with the manager that wrote each
//     selector. That a thing never happened is a statement about this history.
//  6. A test that treats a part of the world badly which others use does not run in parallel.
//  7. A number in a name, TestFlux14..., is that of a failure mode; a letter with a number is a public case. test/CASES.md
//     says which have no test.
package e2e
