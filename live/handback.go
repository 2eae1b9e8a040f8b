package live

// HandBack are the writes that take all that is ours off a cluster's Services,
// whatever Git says: a person's word. No selector is changed by it; the owner of a
// Service applies its own when it looks next.
func HandBack(s Sight) []Write {
	l := look{sight: s}
	l.readRecords()
	l.handBack()
	return l.verdict.Writes
}

func (l *look) handBack() {
	for _, role := range l.roles() {
		if svc, ok := l.mine(role); ok && l.hasTraces(svc) {
			l.write(Write{Kind: Release, Role: role, Patch: releasePatch(svc, l.on[role])})
		}
	}
	if l.sight.Control.Override != nil {
		l.verdict.Writes = append(l.verdict.Writes, Write{Kind: Forget, Name: ControlName(l.sight.Names.Cluster)})
	}
}
