// Package aurora asks the instances of an Aurora PostgreSQL cluster what they are. It returns evidence, faults included, and judges
// nothing: that is discovery.Merge.
//
// What an observation does, in order:
//
//  1. Every known instance is asked at its own endpoint, all at the same time, one round trip each. Config.Hosts are known from the start.
//  2. A name that a fresh row gives and nobody was asked under yet is asked at once, so that the first observation has every
//     instance's own word.
//  3. When no instance is known, or none answered the last time, or this time, the writer and the reader cluster endpoints are
//     asked too, for the names in their rows. DNS leads there, so what answers is no instance's own word.
//  4. An answer under another name than the one asked for is the fault wrong-node, and its connection is not kept: the name may
//     lead to the right node again.
//  5. It ends when everybody has answered, at each probe's deadline, or at the context's, whichever is first. One that hangs is a
//     timeout; it does not delay the answers of the others beyond that, and its attempt to connect goes on for the next time.
//  6. Names that no fresh row of any answer gives are forgotten. Without any answer nothing is.
//  7. Where the observation shows a writer, an idle connection to it is held, whose loss Lost tells.
package aurora
