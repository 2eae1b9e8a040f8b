package pulltext

import (
	"slices"
	"time"

	"github.com/poolwright/poolwright/plan"
)

// load is how many server connections one process opens at most.
type load struct {
	// known is the sum of what has a number.
	known int
	// more comes on top of it for each of what is not counted: "database", "user and database". None when everything is.
	more int
	each markdown
	// open is true when there is no bound at all.
	open bool
}

// of is the load by one database. others is how many databases "*" stands for, 0 when that is not known.
func (l Limits) of(d database, others int) load {
	databases := 1
	if d.name == anyDatabase {
		databases = others
	}
	one := d.pool * l.users(d) // 0: not known, or without a bound
	if d.most > 0 && (one == 0 || d.most < one) {
		one = d.most
	}
	switch {
	case one == 0 && d.pool == 0:
		return load{open: true}
	case one == 0:
		return load{more: d.pool, each: "user and database"}
	case databases == 0:
		return load{more: one, each: "database"}
	}
	return load{known: one * databases}
}

// users is how many log in to d, 0 when that is not known.
func (l Limits) users(d database) int {
	if d.oneUser {
		return 1
	}
	return l.Users
}

// others is how many databases "*" stands for; known is false when that is not known.
func (l Limits) others(list pools) (n int, known bool) {
	named := len(list)
	if list.anyDatabase() {
		named--
	}
	return max(0, l.Databases-named), l.Databases > 0
}

// counted are the databases that clients can reach: "*" is none of them when all have an entry of their own.
func (l Limits) counted(list pools) pools {
	if n, known := l.others(list); known && n == 0 {
		return slices.DeleteFunc(slices.Clone(list), func(d database) bool { return d.name == anyDatabase })
	}
	return list
}

// total is the load by all databases. Of several that are not counted the greatest stands for each.
func (l Limits) total(list pools) (sum load) {
	others, _ := l.others(list)
	for _, d := range l.counted(list) {
		one := l.of(d, others)
		sum.known += one.known
		sum.open = sum.open || one.open
		if one.more > 0 && (sum.each == "" || one.each != "database") {
			sum.each = one.each
		}
		sum.more = max(sum.more, one.more)
	}
	return sum
}

// budgetRow is what instances with the same numbers have in common.
type budgetRow struct {
	instances []string
	cells     []markdown
}

// connections is the budget: what each instance can get, against what it takes.
func (p *paper) connections() []block {
	blocks := []block{heading("Server connections")}
	if !p.built() {
		return append(blocks, paragraph("Not known: the trees were not built."))
	}
	var rows [][]markdown
	for _, r := range p.budget() {
		rows = append(rows, append([]markdown{spans(4, r.instances)}, r.cells...))
	}
	titles := []markdown{"Instance", "Pods:", "Each pod opens", "At most", "`max_connections`"}
	blocks = append(blocks, table(6_000, "%d more rows of the budget", titles, rows))
	return append(blocks, paragraph(p.unknowns()))
}

// budget has a row for each set of instances with the same numbers.
func (p *paper) budget() (rows []budgetRow) {
	for _, m := range p.want.Members {
		list, n := poolsOf(p.objects, m.Name), replicas(p.objects, m.Name)
		most := p.most(list, n)
		if before := p.most(poolsOf(p.old, m.Name), replicas(p.old, m.Name)); before != most && before != "not known" {
			most = before + " → **" + most + "**"
		}
		cells := []markdown{pods(p.objects, m.Name), p.Limits.each(list), most, p.takes(m.Name)}
		i := slices.IndexFunc(rows, func(r budgetRow) bool { return slices.Equal(r.cells, cells) })
		if i < 0 {
			i, rows = len(rows), append(rows, budgetRow{cells: cells})
		}
		rows[i].instances = append(rows[i].instances, m.Name)
	}
	return rows
}

// each is the arithmetic of one process, database by database.
func (l Limits) each(list pools) markdown {
	var words []markdown
	reachable := l.counted(list)
	others, _ := l.others(list)
	for i, d := range reachable {
		if i == 4 && len(reachable) > 5 {
			words = append(words, say("%d more databases", len(reachable)-i))
			break
		}
		words = append(words, span(d.name)+": "+l.formula(d, others))
	}
	if len(words) == 0 {
		return "not known"
	}
	return joinedBy(words, "; ")
}

// formula is "40 × 3 users × 2 databases = 240", as far as that is known.
func (l Limits) formula(d database, others int) markdown {
	text := sizeOf(d.pool)
	switch {
	case d.oneUser:
		text += " × 1 user"
	case l.Users > 0:
		text += " × " + counted(l.Users, "user")
	default:
		text += " a user"
	}
	if all := d.pool * l.users(d); d.most > 0 && (all == 0 || d.most < all) {
		text += say(", at most %d", d.most)
	}
	switch {
	case d.name == anyDatabase && others > 0:
		text += ", × " + counted(others, "database")
	case d.name == anyDatabase && d.most+l.users(d) > 0:
		text += " a database"
	case d.name == anyDatabase:
		text += " and database"
	}
	if n := l.of(d, others).known; n > 0 {
		text += say(" = %d", n)
	}
	return text
}

// most is pods × what each opens.
func (p *paper) most(list pools, pods int) markdown {
	if len(list) == 0 || pods == 0 {
		return "not known"
	}
	var words []markdown
	total := p.Limits.total(list)
	if total.open {
		return "without a bound"
	}
	if total.known > 0 {
		words = append(words, say("%d × %d = %d", pods, total.known, pods*total.known))
	}
	if total.more > 0 {
		words = append(words, say("%d × %d = %d a %s", pods, total.more, pods*total.more, total.each))
	}
	return joinedBy(words, ", plus ")
}

// fit is how a load compares with what an instance has.
type fit struct {
	limit int // 0: not known
	// short is by how many connections limit is too low for what is known.
	short int
	// open is true when no limit is enough, rest when something comes on top that is not counted.
	open, rest bool
}

// fits compares one build's load of an instance with what the instance has.
func (p *paper) fits(built objects, instance string) fit {
	list, pods := poolsOf(built, instance), replicas(built, instance)
	total := p.Limits.total(list)
	f := fit{limit: max(0, p.Limits.MaxConnections[instance]), open: total.open, rest: total.more > 0 || len(list) == 0 || pods == 0}
	if f.limit > 0 {
		f.short = max(0, pods*total.known-f.limit)
	}
	return f
}

func (f fit) tooMuch() bool { return f.limit > 0 && (f.short > 0 || f.open) }

// takes is the instance's max_connections, and whether it is enough.
func (p *paper) takes(instance string) markdown {
	now := p.fits(p.objects, instance)
	text := say("%d", now.limit)
	switch {
	case now.limit == 0:
		return "not known"
	case now.short > 0:
		text += say(": **%d too few (%d > %d)**", now.short, now.limit+now.short, now.limit)
	case now.open:
		text += ": **too few for pools without a bound**"
	case now.rest:
		return text
	default:
		return text + ": enough"
	}
	if now == p.fits(p.old, instance) {
		text += ", as before"
	}
	return text
}

// overbooked are the instances that can get more connections than they take, and whose lot is not as it was.
func (p *paper) overbooked() (names []string) {
	for _, m := range p.want.Members {
		if now := p.fits(p.objects, m.Name); now.tooMuch() && now != p.fits(p.old, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// unknowns says in words which factors are missing, and what is not in the table.
func (p *paper) unknowns() markdown {
	var missing []markdown
	if p.Limits.Users == 0 {
		missing = append(missing, "how many users the auth file has")
	}
	if p.Limits.Databases == 0 && p.anyDatabase() {
		missing = append(missing, "how many databases there are behind `*`")
	}
	if len(p.Limits.MaxConnections) == 0 {
		missing = append(missing, "`max_connections` of the instances")
	}
	text := markdown("")
	if len(missing) > 0 {
		text = "Not known: " + enumerated(missing) + ". "
	}
	text += "A pool belongs to one user of one database of one pod."
	if len(p.rolled()) > 0 {
		drain := p.Cluster.Spec.PgBouncer.GracePeriod().Round(time.Second)
		text += say(" Pods that are replaced keep their connections while they drain, up to %s: for that long it can be up to twice as many.",
			duration(drain))
	}
	return text
}

// anyDatabase reports whether some instance takes clients of any database.
func (p *paper) anyDatabase() bool {
	return slices.ContainsFunc(p.want.Members, func(m plan.Member) bool { return poolsOf(p.objects, m.Name).anyDatabase() })
}

func (list pools) anyDatabase() bool {
	return slices.ContainsFunc(list, func(d database) bool { return d.name == anyDatabase })
}
