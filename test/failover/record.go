package failover

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Moment is a time of a round in milliseconds after the new writer's first answer; nil has not come.
type Moment = *float64

// At is the moment of a time; the zero time has not come.
func At(zero, t time.Time) Moment {
	if t.IsZero() {
		return nil
	}
	ms := float64(t.Sub(zero).Microseconds()) / 1000
	return &ms
}

// Round is a row of a cell's rounds.
type Round struct {
	Round    int
	Date     string // when the new writer answered, RFC 3339
	From, To string
	// Broken is when the old writer was taken away.
	Broken Moment
	// Detected is poolwright's first line about it, Decided the one that names the new writer.
	Detected, Decided Moment
	// Patched is the Writer Service, Endpoints when only the new writer's pods stand behind it.
	Patched, Endpoints Moment
	// Evicted is when poolwright says that its eviction is over: nobody is left, and logins are let in again.
	Evicted Moment
	// First and All are the first and the last application that has written on the new writer.
	First, All              Moment
	Committed, Synced, Back Moment
	Clients, Stuck          int
	// Errors are those of all applications' statements since the writer was taken away, Refused the attempts to connect that came to nothing; most of one.
	Errors, MostErrors, Refused, MostRefused int
	// MostBoth is the most of both of one application.
	MostBoth int
	// Late are the Errors since the new writer answered: those before, nobody could have spared them.
	Late, MostLate int
	// ReadsGap is the longest time in which no read came through the Reader Service, in ms, ReadsTold what readers were told: "08P01×1 timeout×3".
	ReadsGap  float64
	ReadsTold string
	// Restarts are PgBouncers that ended by themselves, since the round before. Replaced are pods that others have taken the place of. At rest
	// after the round Hung gave no answer, and Refusing gave one and served nobody.
	Restarts, Replaced, Hung, Refusing int
	// Rested is false when it did not come to rest, or not every application wrote on the new writer then.
	Rested bool
	// Commit is what was measured.
	Commit string
}

// Client is a row of a cell's clients.
type Client struct {
	Round, Client int
	LastOld       Moment // last good write on another server
	FirstNew      Moment
	Errors        int
	Refused       int
	Late          int    // of the errors, those since the new writer answered
	Codes         string // "08P01×1 25006×3 !08P01×4": refusals have the sign before them
}

// Files are the paths of a cell's raw data.
type Files struct{ Rounds, Clients string }

// FilesOf are in a directory.
func FilesOf(dir string, c Cell) Files {
	path := filepath.Join(dir, c.Name())
	return Files{path + ".rounds.csv", path + ".clients.csv"}
}

// Append writes a round down: its clients first, so that a round that is there is whole.
func (f Files) Append(r Round, clients []Client) error {
	return errors.Join(appendRows(f.Clients, clients), appendRows(f.Rounds, []Round{r}))
}

// Read reads what there is of a cell; nothing is no error. Clients of a round that was not written down are left out.
func (f Files) Read() (rounds []Round, clients []Client, err error) {
	if rounds, err = readRows[Round](f.Rounds); err != nil {
		return nil, nil, err
	}
	all, err := readRows[Client](f.Clients)
	there := map[int]bool{}
	for _, r := range rounds {
		there[r.Round] = true
	}
	known := map[[2]int]int{}
	for _, c := range all {
		key := [2]int{c.Round, c.Client}
		if i, ok := known[key]; ok { // of a run that was ended in between
			clients[i] = c
		} else if there[c.Round] {
			known[key] = len(clients)
			clients = append(clients, c)
		}
	}
	return rounds, clients, err
}

// appendRows adds structs to a CSV file, whose first line is the names of their fields.
func appendRows[T any](path string, rows []T) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	w := csv.NewWriter(file)
	if info, err := file.Stat(); err != nil || info.Size() == 0 {
		_ = w.Write(header[T]()) // Error tells
	}
	for _, row := range rows {
		var cells []string
		for _, v := range reflect.ValueOf(row).Fields() {
			cells = append(cells, text(v))
		}
		_ = w.Write(cells)
	}
	w.Flush()
	return w.Error()
}

func header[T any]() (names []string) {
	for field := range reflect.TypeFor[T]().Fields() {
		names = append(names, field.Name)
	}
	return names
}

func text(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return ""
	case v.Kind() == reflect.Pointer:
		return text(v.Elem())
	case v.Kind() == reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', 1, 64)
	}
	return fmt.Sprint(v.Interface())
}

func readRows[T any](path string) (rows []T, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if len(lines) > 0 && !slices.Equal(lines[0], header[T]()) {
		return nil, fmt.Errorf("reading %s: the columns are %q, not %q: it is of another version of this benchmark", path, lines[0], header[T]())
	}
	for i, line := range lines[min(1, len(lines)):] {
		var row T
		for j, cell := range line {
			if err := parse(reflect.ValueOf(&row).Elem().Field(j), cell); err != nil {
				return nil, fmt.Errorf("reading %s, row %d: %w", path, i+1, err)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func parse(v reflect.Value, text string) error {
	switch v.Kind() {
	case reflect.Pointer:
		if text == "" {
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return parse(v.Elem(), text)
	case reflect.String:
		v.SetString(text)
		return nil
	case reflect.Bool:
		is, err := strconv.ParseBool(text)
		v.SetBool(is)
		return err
	case reflect.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		v.SetInt(n)
		return err
	}
	f, err := strconv.ParseFloat(text, 64)
	v.SetFloat(f)
	return err
}
