// Package session keeps one connection to each database endpoint, for the providers that ask them.
//
//  1. A Session connects in the background, for at most Config.Timeout. Asking waits for that no longer than its own
//     deadline, so that a slow handshake is not begun anew at every short deadline of a failover window.
//  2. A question is one message of the simple protocol and its answer: one round trip.
//  3. After any error the connection is thrown away at once, without a goodbye that could block. When it was a kept one that turned out
//     to be dead, the question is asked once more on a new one: a node that has restarted is not a node that is down.
//  4. A kept connection serves for about a minute. Then a new one is made to where the name leads by now, while the old one still answers.
//     When that attempt ends the old one is closed, also when it failed: the next question then tells why.
//  5. Credentials are fetched for each new connection. No password is in any error.
//  6. A Watch is a second, idle connection with a blocked read. Its loss is known when the kernel knows it, in milliseconds;
//     a silent peer, on a machine that is frozen or cut off, after half a second: four times a second it is asked for a sign of life, and for
//     nothing else. Only the end of a connection that stood is a loss: not being let in is none, nor is its renewal after a minute, nor
//     idle_session_timeout. It connects again by itself, with pauses from 250 ms to 10 s as long as no connection holds for 10 s.
//  7. Who is silent is asked with a patience of 250 ms for the next 5 s, or until it answers, and a question that is under way ends at once: a
//     round waits for all answers, and its silence is known already. After that it is waited for like others: it may be only slow.
package session
