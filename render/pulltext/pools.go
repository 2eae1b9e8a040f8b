package pulltext

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// anyDatabase is the entry that stands for every database without one of its own.
const anyDatabase = "*"

// PgBouncer's own defaults.
const (
	defaultPool    = 20
	defaultReserve = 0
)

// database is one entry of [databases] as far as connections go.
type database struct {
	name string
	// pool is the size of one user's pool with its reserve; 0 is without a bound.
	pool int
	// own is true when the entry has a pool size of its own.
	own bool
	// oneUser is true when everybody logs in to the server as one user.
	oneUser bool
	// most is max_db_connections of one process, 0 for none.
	most int
}

// pools are those of one instance; nil when they are not known.
type pools []database

// poolsOf reads an instance's built pgbouncer.ini.
func poolsOf(built objects, instance string) pools {
	config, ok := built.of(instance, "ConfigMap")
	if !ok {
		return nil
	}
	text, _ := at(config.content, "data", "pgbouncer.ini").(string)
	return readPools(text)
}

// readPools reads pgbouncer.ini. The databases are sorted.
func readPools(text string) (list pools) {
	ini := readIni(text)
	main := ini["pgbouncer"]
	size := number(main["default_pool_size"], defaultPool)
	reserve := number(main["reserve_pool_size"], defaultReserve)
	most := number(main["max_db_connections"], 0)
	for _, user := range ini["users"] { // a user's own pools are at most as large as the largest of them
		size = max(size, number(settingsOf(user)["pool_size"], size))
	}
	for _, name := range slices.Sorted(maps.Keys(ini["databases"])) {
		entry := settingsOf(ini["databases"][name])
		d := database{name: name, most: number(entry["max_db_connections"], most)}
		_, d.oneUser = entry["user"]
		_, d.own = entry["pool_size"]
		if pool := number(entry["pool_size"], size); pool > 0 {
			d.pool = pool + number(entry["reserve_pool_size"], number(entry["reserve_pool"], reserve))
		}
		list = append(list, d)
	}
	return list
}

// number reads a whole number that is not negative.
func number(text string, otherwise int) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n > 1<<30 {
		return otherwise
	}
	return n
}

// readIni is section, key, value.
func readIni(text string) map[string]map[string]string {
	ini := map[string]map[string]string{}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, assigns := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		case assigns:
			if ini[section] == nil {
				ini[section] = map[string]string{}
			}
			ini[section][strings.Trim(strings.TrimSpace(key), `"`)] = strings.TrimSpace(value)
		}
	}
	return ini
}

// settingsOf reads a connection string: key=value, a value with blanks in single quotes, a quote in it twice.
func settingsOf(text string) map[string]string {
	found := map[string]string{}
	for {
		key, rest, assigns := strings.Cut(text, "=")
		if !assigns {
			return found
		}
		var value string
		value, text = valueOf(strings.TrimLeft(rest, " \t"))
		found[strings.TrimSpace(key)] = value
	}
}

func valueOf(text string) (value, rest string) {
	if !strings.HasPrefix(text, "'") {
		end := strings.IndexAny(text, " \t")
		if end < 0 {
			return text, ""
		}
		return text[:end], text[end:]
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] == '\'' {
			if i++; i == len(text) || text[i] != '\'' {
				return b.String(), text[i:]
			}
		}
		b.WriteByte(text[i])
	}
	return b.String(), ""
}

// short is the pool size and the databases: "40 × 2 (`*`, `reports`: 5)".
func (list pools) short() markdown {
	if len(list) == 0 {
		return "not known"
	}
	size := list[0].pool
	for _, d := range list {
		if !d.own {
			size = d.pool
			break
		}
	}
	var words []markdown
	for i, d := range list {
		if i == 3 && len(list) > 4 {
			words = append(words, say("%d more", len(list)-i))
			break
		}
		word := span(d.name)
		if d.pool != size {
			word += ": " + sizeOf(d.pool)
		}
		words = append(words, word)
	}
	return say("%s × %d (%s)", sizeOf(size), len(list), joinedBy(words, ", "))
}

// sizeOf is a pool's size; 0 has no bound.
func sizeOf(pool int) markdown {
	if pool == 0 {
		return "unlimited"
	}
	return markdown(strconv.Itoa(pool))
}
