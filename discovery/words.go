package discovery

// Provider says which rules an observation is judged by.
type Provider uint8

// The providers.
const (
	Aurora   Provider = iota + 1 // "aurora"
	Postgres                     // "postgres"
)

// Mode says whether a cluster has a writer of its own.
type Mode uint8

// The modes.
const (
	Regional        Mode = iota // "regional": exactly one writer, else doubt
	GlobalSecondary             // "global-secondary": no writer is normal
)

// MetadataState says how far to believe metadata.
type MetadataState uint8

// The states of metadata.
const (
	MetadataOff   MetadataState = iota // "off"
	MetadataFresh                      // "fresh"
	MetadataStale                      // "stale"
)

// Fault is why an endpoint gave no usable answer. The zero value is None: it answered.
type Fault uint8

// The faults.
const (
	None        Fault = iota // ""
	NotAsked                 // "not-asked": never asked in this observation
	Unreachable              // "unreachable": refused, reset, no route, unknown name
	Timeout                  // "timeout": no answer before the deadline
	Denied                   // "denied": authentication or permission
	StartingUp               // "starting-up": SQLSTATE 57P03 and its kin
	Broken                   // "broken": an answer that is no answer (protocol, missing function, scan)
	WrongNode                // "wrong-node": somebody else answered at that endpoint
)

// Doubt is one reason not to trust a topology.
type Doubt struct {
	Code     DoubtCode
	Instance string // "" when it is about the cluster
	Detail   string // for people
}

// DoubtCode is the closed set of doubts.
type DoubtCode uint8

// The doubts: none of them changes anything anywhere.
const (
	Blind          DoubtCode = iota + 1 // "blind": nobody answered
	NoRows                              // "no-rows": a view without rows
	DuplicateID                         // "duplicate-id": twice in one view, or asked twice
	EmptyID                             // "empty-id": empty, or no name that an instance can have
	NoWriter                            // "no-writer": nobody claims it for itself
	TwoWriters                          // "two-writers": more than one claims it, not decidable
	MixedAnswer                         // "mixed-answer": not in recovery but read-only, or the like
	WriterUnproven                      // "writer-unproven": others name it, it does not say so itself
)

// Note is a fact for people.
type Note struct {
	Code     NoteCode
	Instance string
	Detail   string
}

// NoteCode is the closed set of notes.
type NoteCode uint8

// The notes.
const (
	StaleRow         NoteCode = iota + 1 // "stale-row": a row older than 300 s was ignored
	NotAMember                           // "not-a-member": fresh metadata does not know it; quarantined
	StaleClaim                           // "stale-claim": an older writer claim lost
	MetadataIsOld                        // "metadata-stale"
	NoAnswer                             // "no-answer": an instance's own fault
	LagSentinel                          // "lag-sentinel": absurd lag, likely leaving
	EndpointLag                          // "endpoint-lag": the cluster endpoint led to another node than the writer
	UnusableView                         // "unusable-view": a reader's view was no view; the others decide
	UnexpectedWriter                     // "unexpected-writer": a writer in mode global-secondary; a person has to change the mode
)
