package clusters

import (
	"maps"
	"slices"
	"strings"
)

// suggest is the hint for a word that is none of the valid ones: the nearest, or all when none is near.
func suggest(word string, valid []string) string {
	slices.Sort(valid)
	best, distance := "", len(word)/2+1
	for _, v := range valid {
		if d := edits(strings.ToLower(word), strings.ToLower(v)); d < distance {
			best, distance = v, d
		}
	}
	switch {
	case best != "":
		return `did you mean "` + best + `"?`
	case len(valid) == 0:
		return "no key is valid here"
	}
	return "valid here: " + strings.Join(valid, ", ")
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// maxWord bounds the work for absurdly long keys.
const maxWord = 40

// edits is the Levenshtein distance.
func edits(a, b string) int {
	if len(a) > maxWord || len(b) > maxWord {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
