// Package proof keeps proving, from outside, that writes reach a writer and that reads are answered.
//
//  1. Writes and reads are asked about apart from each other, each at its own address: the role Services, so that what an
//     application would meet is what is proven. One that has no address is not asked about.
//  2. It asks every Interval, and every FastInterval while a failover window is open. Nobody is asked a second time before the first
//     answer is there: a node that hangs gets one connection, not ten a second.
//  3. What is not proven outside of a window is asked again after 3 s: half a minute is long for a person who has just repaired it.
//  4. [Prover.Wake] asks at once. So does a new address.
//  5. An answer from an address that is not the target any more counts for nothing.
//  6. What is told is a change of the outcome, not a proof. Role mismatch is an outcome of its own: a node that answers
//     everything but cannot write is another trouble than one that is down, and has another cure.
//  7. A proof that failed takes nothing away: when it was proven last stays known.
package proof
