package pulltext

import (
	"slices"
	"time"

	"github.com/poolwright/poolwright/plan"
)

// bound is how many server connections something can come to at most.
type bound struct {
	n int
	// each is what n is for: "" for all there is, else "database" or "user and database".
	each markdown
	// open is true when there is no bound at all.
	open bool
}

// of is what one process opens to the server because of d at most.
func (l Limits) of(d database) bound {
	users := l.Users
	if d.oneUser {
		users = 1
	}
	databases := 1
	if d.name == anyDatabase {
		databases = l.Databases
	}
	one := d.pool * users // 0: not known, or without a bound
	if d.most > 0 && (one == 0 || d.most < one) {
		one = d.most
	}
	switch {
	case one == 0 && d.pool == 0:
		return bound{open: true}
	case one == 0:
		return bound{n: d.pool, each: "user and database"}
	case databases == 0:
		return bound{n: one, each: "database"}
	}
	return bound{n: one * databases}
}

// total is the bound of a whole process: a sum where everything is known, else the greatest for the vaguest unit.
func (l Limits) total(list pools) bound {
	var all bound
	for _, d := range list {
		one := l.of(d)
		switch {
		case one.open:
			return one
		case all.each == one.each && one.each == "":
			all.n += one.n
		case vagueness(one.each) > vagueness(all.each):
			all = one
		case one.each == all.each:
			all.n = max(all.n, one.n)
		}
	}
	return all
}

// vagueness orders units: a database can have many users.
func vagueness(each markdown) int {
	return slices.Index([]markdown{"", "database", "user and database"}, each)
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
	titles := []markdown{"Instance", "Pods:", "Each pod opens", "At most", "The instance takes"}
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
		cells := []markdown{pods(p.objects, m.Name), p.Limits.each(list), most, p.takes(m.Name, list, n)}
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
	for i, d := range list {
		if i == 4 && len(list) > 5 {
			words = append(words, say("%d more databases", len(list)-i))
			break
		}
		words = append(words, span(d.name)+": "+l.formula(d))
	}
	if len(words) == 0 {
		return "not known"
	}
	return joinedBy(words, "; ")
}

// formula is "40 × 3 users × 2 databases = 240", as far as that is known.
func (l Limits) formula(d database) markdown {
	text := sizeOf(d.pool)
	switch {
	case d.oneUser:
		text += " × 1 user"
	case l.Users > 0:
		text += " × " + counted(l.Users, "user")
	default:
		text += " a user"
	}
	if d.most > 0 {
		text += say(", at most %d", d.most)
	}
	switch {
	case d.name == anyDatabase && l.Databases > 0:
		text += ", × " + counted(l.Databases, "database")
	case d.name == anyDatabase:
		text += " a database"
	}
	if total := l.of(d); total.each == "" && !total.open {
		text += say(" = %d", total.n)
	}
	return text
}

// most is pods × what each opens.
func (p *paper) most(list pools, pods int) markdown {
	if len(list) == 0 || pods == 0 {
		return "not known"
	}
	total := p.Limits.total(list)
	switch {
	case total.open:
		return "without a bound"
	case total.each == "":
		return say("%d × %d = %d", pods, total.n, pods*total.n)
	}
	return say("%d × %d = %d a %s", pods, total.n, pods*total.n, total.each)
}

// takes compares with the instance's max_connections.
func (p *paper) takes(instance string, list pools, pods int) markdown {
	limit := p.Limits.MaxConnections[instance]
	total := p.Limits.total(list)
	switch n := pods * total.n; {
	case limit <= 0:
		return "not known"
	case total.open:
		return say("%d, **which is no match for pools without a bound**", limit)
	case len(list) == 0 || pods == 0 || total.each != "":
		return say("%d", limit)
	case n > limit:
		return say("%d, **%d too few: %d > %d**", limit, n-limit, n, limit)
	default:
		return say("%d, enough", limit)
	}
}

// unknowns says in words which factors are missing, and what is not in the table.
func (p *paper) unknowns() markdown {
	var missing []markdown
	if p.Limits.Users == 0 {
		missing = append(missing, "how many users the auth file has")
	}
	if p.Limits.Databases == 0 && p.anyDatabase() {
		missing = append(missing, "how many databases `*` stands for")
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
		text += say(" Pods that are replaced keep their connections while they drain, up to %s: for that long it can be up to twice as many.", duration(drain))
	}
	return text
}

func (p *paper) anyDatabase() bool {
	return slices.ContainsFunc(p.want.Members, func(m plan.Member) bool {
		return slices.ContainsFunc(poolsOf(p.objects, m.Name), func(d database) bool { return d.name == anyDatabase })
	})
}
