package pgbouncer

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// Admin runs a command at the console as User and returns its rows, each a
// map of its columns. An error fails the test.
func (p *Process) Admin(command string) []map[string]string {
	p.t.Helper()
	rows, err := p.admin(command)
	if err != nil {
		p.t.Fatalf("pgbouncer: %s: %v", command, err)
	}
	return rows
}

func (p *Process) admin(command string) ([]map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	conn, err := pgconn.Connect(ctx, p.DSN("pgbouncer"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	results, err := conn.Exec(ctx, command).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("at the console: %w", err)
	}
	var rows []map[string]string
	for _, r := range results {
		for _, values := range r.Rows {
			row := map[string]string{}
			for i, f := range r.FieldDescriptions {
				row[f.Name] = string(values[i])
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}
