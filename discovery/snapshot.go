package discovery

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/yaml"
)

// ReadSnapshot reads an observation from YAML. It is strict: an unknown or
// repeated key, a wrong type or a word outside its set is an error. What a person need
// not write is filled in: the port (5432), and each answer's endpoint.
func ReadSnapshot(text []byte) (Observation, error) {
	var o Observation
	if err := yaml.UnmarshalStrict(text, &o); err != nil {
		return Observation{}, fmt.Errorf("reading snapshot: %w", err)
	}
	o = o.complete()
	if err := o.check(); err != nil {
		return Observation{}, fmt.Errorf("reading snapshot: %w", err)
	}
	return o, nil
}

// WriteSnapshot writes an observation as YAML that ReadSnapshot gives back. The
// same observation gives the same bytes, whatever the order of its answers.
func WriteSnapshot(o Observation) ([]byte, error) {
	o = o.complete()
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("writing snapshot: %w", err)
	}
	text, err := yaml.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("writing snapshot: %w", err)
	}
	return text, nil
}

// complete is o in its one written form: defaults filled in, answers and
// metadata sorted, times in UTC.
func (o Observation) complete() Observation {
	o.Port = cmp.Or(o.Port, defaultPort)
	o.At = o.At.UTC().Round(0)
	o.Answers = slices.Clone(o.Answers)
	for i := range o.Answers {
		a := &o.Answers[i]
		if a.Endpoint == "" && a.Asked != "" {
			a.Endpoint = joinEndpoint(o.Address(a.Asked))
		}
	}
	slices.SortStableFunc(o.Answers, compareAnswers)
	if o.Metadata != nil {
		m := *o.Metadata
		m.At = m.At.UTC().Round(0)
		m.Instances = slices.Clone(m.Instances)
		slices.SortStableFunc(m.Instances, func(a, b MetaInstance) int { return cmp.Compare(a.Name, b.Name) })
		o.Metadata = &m
	}
	return o
}

func compareAnswers(a, b Answer) int {
	return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Asked, b.Asked), cmp.Compare(a.Via, b.Via))
}

// check refuses what no provider gives.
func (o Observation) check() error {
	switch {
	case o.Cluster == "":
		return errors.New("cluster: missing")
	case o.Provider == 0:
		return errors.New("provider: missing (aurora or postgres)")
	case o.At.IsZero():
		return fmt.Errorf("at: missing (the time of the observation, such as %s)", time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).Format(time.RFC3339))
	case o.Port < 1 || o.Port > 65535:
		return fmt.Errorf("port: %d is outside 1-65535", o.Port)
	}
	asked := map[string]bool{}
	for _, a := range o.Answers {
		switch {
		case a.Asked == "" && a.Via == Unknown:
			return fmt.Errorf("answers: %q has neither asked (an instance) nor via (writer or reader)", a.Endpoint)
		case a.Asked != "" && asked[a.Asked]:
			return fmt.Errorf("answers: %s was asked twice", a.Asked)
		}
		asked[a.Asked] = true
	}
	return nil
}
