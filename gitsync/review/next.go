package review

// Next says what is to be done now, and how the wish stands while that is being done. The package comment has its rules.
func Next(s Seen) (Step, State) {
	switch open := s.Pull.Phase == OpenPull; {
	case s.Pull.Phase == MergedPull && !s.Pull.Read:
		return s.sweep(), Merged
	case !s.Wanted:
		return s.unwanted()
	case s.Declined && open && s.Branch.There && !s.Pull.Retargeted:
		return CloseDeclined, Declined
	case s.Declined:
		return Rest, Declined
	case open && (s.Pull.Retargeted || s.blocked()):
		return s.stop(), Stopped
	default:
		return s.propose(), Proposed
	}
}

// unfit tells whether the branch needs a commit.
func (s Seen) unfit() bool {
	return !s.Branch.There || !s.Branch.AsWished || s.Direct && s.Branch.Behind
}

// blocked tells whether a person's edit stands in the way of that commit.
func (s Seen) blocked() bool { return s.Branch.There && s.unfit() && s.Branch.Edited }

// stop says it once.
func (s Seen) stop() Step {
	if s.Pull.Told {
		return Rest
	}
	return Tell
}

// unwanted takes back what is not wished any more.
func (s Seen) unwanted() (Step, State) {
	switch {
	case s.Pull.Phase == OpenPull && s.Pull.Retargeted:
		return Rest, Stopped
	case s.Pull.Phase == OpenPull && !s.Branch.There:
		return Rest, Closed
	case s.Pull.Phase == OpenPull:
		return CloseEqual, Closed
	case s.Pull.Phase == MergedPull:
		return s.sweep(), None
	case s.Pull.Phase == ClosedPull && s.Pull.ByUs:
		return s.tidy(), Closed
	}
	return Rest, None
}

// sweep deletes the branch of a merged pull request.
func (s Seen) sweep() Step {
	if b := s.Branch; b.There && b.Current && !b.Barred {
		return Delete
	}
	return Rest
}

// tidy leaves nothing of what we proposed on the branch of a pull request that we closed.
func (s Seen) tidy() Step {
	switch b := s.Branch; {
	case !b.There || !b.Current:
		return Rest
	case b.OnlyOurs && !b.Barred:
		return Delete
	case !b.AsWished && !b.Edited:
		return Draw
	}
	return Rest
}

// propose brings the branch, then the pull request to what is wished.
func (s Seen) propose() Step {
	open, b := s.Pull.Phase == OpenPull, s.Branch
	switch {
	case open && !b.There:
		return Rest
	case s.unfit():
		return Draw
	case !open:
		return Open
	case !s.Pull.Asked:
		return Ask
	case !s.Pull.Described:
		return Describe
	case s.Direct && b.OwnHead && b.Current:
		return Merge
	}
	return Rest
}
