package live

import "time"

// Next is what is to be done about a cluster's Services, and how they stand. It is
// a pure function; the same sight and want give the same verdict, so that a
// restart at any point goes on from there.
func Next(s Sight, w Want, now time.Time) Verdict { return Verdict{} }
