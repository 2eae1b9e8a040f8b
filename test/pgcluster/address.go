package pgcluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// addresses picks n loopback addresses and one port that is free on all of
// them. Both are random and the port is below the range of outgoing
// connections, so that a stopped node finds its place still free.
func addresses(n int) (hosts []string, port int, err error) {
	for range 100 {
		hosts, port = hosts[:0], 20000+rand.IntN(12000)
		a, b := 1+rand.IntN(254), rand.IntN(255)
		for i := range n {
			hosts = append(hosts, fmt.Sprintf("127.%d.%d.%d", a, b, 11+i))
		}
		if allFree(hosts, port) {
			return hosts, port, nil
		}
	}
	return nil, 0, errors.New("finding loopback addresses: none is free (Linux has all of 127.0.0.0/8, others may not)")
}

func allFree(hosts []string, port int) bool {
	for _, host := range hosts {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}
