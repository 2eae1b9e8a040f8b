package cmd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/discovery/aurorasim"
)

const stayHelp = `
It goes on, with the repository at %s. Type a command, then watch:
  status            who is what
  add NAME          a new reader
  remove NAME       delete an instance
  kill NAME         end its process (of the writer: a failover)
  restart NAME      bring it back, or reboot it
  promote NAME      make it the writer, with the old one as a reader
  replace NAME      the same name on a new machine
  FAULT NAME        %s
  heal NAME         end all its faults
  quit
`

// stay takes commands until quit, the end of input or an interrupt.
func (p *play) stay(ctx context.Context, in io.Reader) error {
	fmt.Fprintf(p.out, stayHelp, p.url, faultNames())
	lines := make(chan string)
	go func() { // ends with the input, at the latest with the process
		defer close(lines)
		for scan := bufio.NewScanner(in); scan.Scan(); {
			select {
			case lines <- scan.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-p.events:
			p.tell(e)
		case text, ok := <-lines:
			if !ok || strings.TrimSpace(text) == "quit" {
				return nil
			}
			if err := p.command(text); err != nil {
				fmt.Fprintf(p.out, "  %v\n", err)
			}
		}
	}
}

func faultNames() string {
	var names []string
	for _, f := range aurorasim.Faults() {
		names = append(names, f.String())
	}
	return strings.Join(names, ", ")
}

// command does what one line asks for.
func (p *play) command(text string) error {
	words := append(strings.Fields(text), "", "")
	verb, name := words[0], words[1]
	verbs := map[string]func(string) error{
		"add":     func(name string) error { return p.sim.AddInstance(name) },
		"remove":  p.sim.RemoveInstance,
		"kill":    p.sim.Kill,
		"restart": p.sim.Restart,
		"promote": p.sim.Promote,
		"replace": p.sim.Replace,
		"heal":    func(name string) error { return p.sim.Clear(name) },
		"status":  p.status,
		"":        func(string) error { return nil },
	}
	if do, ok := verbs[verb]; ok {
		return do(name)
	}
	var fault aurorasim.Fault
	if err := fault.UnmarshalText([]byte(verb)); err != nil {
		return unknownCommand(verb, slices.Concat(sortedKeys(verbs)[1:], []string{"quit"}, strings.Split(faultNames(), ", "))) // the first is ""
	}
	return p.sim.Inject(name, fault)
}

// unknownCommand names what was probably meant, or every command.
func unknownCommand(verb string, known []string) error {
	if near, ok := nearest(verb, known); ok {
		return fmt.Errorf("no command %q; the nearest is %q", verb, near)
	}
	return fmt.Errorf("no command %q; there are %s", verb, strings.Join(known, ", "))
}

// status tells what the provider's API would say.
func (p *play) status(string) error {
	rows := [][]string{{"  INSTANCE", "ROLE", "STATUS", "ZONE"}}
	for _, i := range p.sim.Metadata().Instances {
		role := "reader"
		if i.Writer {
			role = "writer"
		}
		rows = append(rows, []string{"  " + i.Name, role, i.Status, i.Zone})
	}
	return table(p.out, rows)
}
