package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// signals are those that `bed ctl stop` sends.
func signals() map[string]syscall.Signal {
	return map[string]syscall.Signal{
		"KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
	}
}

const socket = "ctl"

// listenControl listens on D/ctl. The address of a Unix socket has at most 107
// bytes, and D may be longer: so the socket is named from within D.
func listenControl(dir string) (listener net.Listener, err error) {
	err = within(dir, func() error {
		listener, err = net.Listen("unix", socket)
		return err
	})
	return listener, err
}

func within(dir string, do func() error) error {
	before, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	return errors.Join(do(), os.Chdir(before))
}

// serveControl answers one request on each connection: a line "VERB NAME
// SIGNAL", answered by "ok" or "error: ..." and, for list, a line for each part.
func serveControl(listener net.Listener, parts []*part) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "bed: accepting:", err)
			return
		}
		go func() {
			defer conn.Close()
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil {
				return
			}
			answer, err := obey(strings.Fields(line), parts)
			if err != nil {
				fmt.Fprintf(conn, "error: %v\n", err)
				return
			}
			fmt.Fprintf(conn, "ok\n%s", answer)
		}()
	}
}

func obey(request []string, parts []*part) (answer string, err error) {
	if len(request) != 3 {
		return "", errors.New("not a request")
	}
	if request[0] == "list" {
		for _, p := range parts {
			answer += fmt.Sprintf("%s %s\n", p.name, p.state())
		}
		return answer, nil
	}
	p, err := find(parts, request[1])
	if err != nil {
		return "", err
	}
	switch request[0] {
	case "stop":
		return "", p.signal(signals()[request[2]])
	case "start":
		return "", p.start(context.Background())
	case "restart":
		if err := p.signal(syscall.SIGKILL); err != nil {
			return "", err
		}
		return "", p.start(context.Background())
	}
	return "", fmt.Errorf("no verb %q", request[0])
}

// control is the command ctl.
func control(args []string) error {
	request, dir, err := parseControl(args)
	if err != nil {
		return err
	}
	var conn net.Conn
	err = within(dir, func() error {
		conn, err = net.Dial("unix", socket)
		return err
	})
	if err != nil {
		return fmt.Errorf("calling the driver of the world in %s: %w", dir, err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, request); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return err
	}
	body, ok := strings.CutPrefix(string(answer), "ok\n")
	if !ok {
		return errors.New(strings.TrimSpace(strings.TrimPrefix(body, "error: ")))
	}
	fmt.Print(body)
	return nil
}

func parseControl(args []string) (request, dir string, err error) {
	flags := flag.NewFlagSet("bed ctl", flag.ContinueOnError)
	flags.StringVar(&dir, "dir", os.Getenv("BED_DIR"), "the world's directory; default $BED_DIR")
	if err := flags.Parse(args); err != nil {
		return "", "", errors.Join(errUsage, err)
	}
	verb := flags.Arg(0)
	rest := flag.NewFlagSet("bed ctl "+verb, flag.ContinueOnError)
	signal := rest.String("signal", "KILL", "KILL, TERM, STOP or CONT")
	if err := rest.Parse(flags.Args()[min(1, flags.NArg()):]); err != nil {
		return "", "", errors.Join(errUsage, err)
	}
	name := rest.Arg(0)
	// The signal may also come after the name.
	if err := rest.Parse(rest.Args()[min(1, rest.NArg()):]); err != nil {
		return "", "", errors.Join(errUsage, err)
	}
	_, known := signals()[*signal]
	switch {
	case rest.NArg() > 0, !known, verb != "stop" && *signal != "KILL":
		return "", "", errUsage
	case verb == "list" && name == "":
		name = "-"
	case name == "", verb != "start" && verb != "stop" && verb != "restart":
		return "", "", errUsage
	}
	if dir == "" {
		return "", "", fmt.Errorf("%w: no BED_DIR and no --dir", errUsage)
	}
	dir, err = filepath.Abs(dir)
	return strings.Join([]string{verb, name, *signal}, " "), dir, err
}
