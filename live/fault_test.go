package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status is an answer of a real API server (1.37.2).
func status(t *testing.T, text string) error {
	t.Helper()
	var s metav1.Status
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return &apierrors.StatusError{ErrStatus: s}
}

const policyDenied = `{"status":"Failure","message":"services \"pg-writer\" is forbidden: ValidatingAdmissionPolicy 'no' with binding 'no' denied request: not on my watch","reason":%q,"details":{"name":"pg-writer","kind":"services","causes":[{"message":"ValidatingAdmissionPolicy 'no' with binding 'no' denied request: not on my watch"}]},"code":%d}`

func TestCodeOf(t *testing.T) {
	asked := &url.Error{Op: "Patch", URL: "https://api/x?y", Err: nil}
	answered := func(err error) error { e := *asked; e.Err = err; return &e }
	for name, c := range map[string]struct {
		err    error
		code   Code
		reason string
	}{
		"no error": {nil, 0, ""},
		"a failed test of a JSON Patch": {
			status(t, `{"metadata":{},"status":"Failure","message":"the server rejected our request due to an error in our request","reason":"Invalid","details":{},"code":422}`),
			0, "the server rejected our request due to an error in our request",
		},
		"a conflict": {
			status(t, `{"status":"Failure","message":"Operation cannot be fulfilled on services \"pg-writer\": the object has been modified","reason":"Conflict","details":{"name":"pg-writer","kind":"services"},"code":409}`),
			0, `Operation cannot be fulfilled on services "pg-writer": the object has been modified`,
		},
		"a selector that is none": {
			status(t, `{"status":"Failure","message":"Service \"pg-writer\" is invalid: spec.selector: Invalid value: \"c!\"","reason":"Invalid","details":{"name":"pg-writer","kind":"Service","causes":[{"reason":"FieldValueInvalid","message":"Invalid value: \"c!\"","field":"spec.selector"}]},"code":422}`),
			Invalid, `Service "pg-writer" is invalid: spec.selector: Invalid value: "c!"`,
		},
		"a patch that makes no Service": {
			status(t, `{"status":"Failure","message":" \"\" is invalid: patch: Invalid value: \"{}\": json: cannot unmarshal number","reason":"Invalid","details":{"causes":[{"reason":"FieldValueInvalid","message":"Invalid value: \"{}\": json: cannot unmarshal number","field":"patch"}]},"code":422}`),
			Invalid, `"" is invalid: patch: Invalid value: "{}": json: cannot unmarshal number`,
		},
		"a Service that does not exist": {
			status(t, `{"status":"Failure","message":"services \"none\" not found","reason":"NotFound","details":{"name":"none","kind":"services"},"code":404}`),
			ServiceMissing, `services "none" not found`,
		},
		"a right that is missing": {
			status(t, `{"status":"Failure","message":"services \"pg-writer\" is forbidden: User \"system:serviceaccount:example:poolwright\" cannot patch resource \"services\" in API group \"\" in the namespace \"example\"","reason":"Forbidden","details":{"name":"pg-writer","kind":"services"},"code":403}`),
			Forbidden, `services "pg-writer" is forbidden: User "system:serviceaccount:example:poolwright" cannot patch resource "services" in API group "" in the namespace "example"`,
		},
		"a token that counts no more": {
			status(t, `{"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`), Forbidden, "Unauthorized",
		},
		"a policy":                       {status(t, fmt.Sprintf(policyDenied, "Invalid", 422)), Denied, `services "pg-writer" is forbidden: ValidatingAdmissionPolicy 'no' with binding 'no' denied request: not on my watch`},
		"a policy that says Forbidden":   {status(t, fmt.Sprintf(policyDenied, "Forbidden", 403)), Denied, `services "pg-writer" is forbidden: ValidatingAdmissionPolicy 'no' with binding 'no' denied request: not on my watch`},
		"a policy that says it is large": {status(t, fmt.Sprintf(policyDenied, "RequestEntityTooLarge", 413)), Denied, `services "pg-writer" is forbidden: ValidatingAdmissionPolicy 'no' with binding 'no' denied request: not on my watch`},
		"a webhook": {
			status(t, `{"status":"Failure","message":"admission webhook \"no.example.com\" denied the request: never","code":400}`), Denied, `admission webhook "no.example.com" denied the request: never`,
		},
		"a webhook that is down": {
			status(t, `{"status":"Failure","message":"Internal error occurred: failed calling webhook \"no.example.com\": failed to call webhook: Post \"https://127.0.0.1:1/x?timeout=10s\": dial tcp 127.0.0.1:1: connect: connection refused","reason":"InternalError","code":500}`),
			Denied, `Internal error occurred: failed calling webhook "no.example.com": failed to call webhook: Post "https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused`,
		},
		"another admission plug-in": {
			status(t, `{"status":"Failure","message":"services \"pg-writer\" is forbidden: exceeded quota: few","reason":"Forbidden","details":{"name":"pg-writer","kind":"services"},"code":403}`), Denied, `services "pg-writer" is forbidden: exceeded quota: few`,
		},
		"too many requests":     {apierrors.NewTooManyRequests("later", 1), Unreachable, "later"},
		"a server without etcd": {apierrors.NewTimeoutError("etcdserver: request timed out", 0), Unreachable, "Timeout: etcdserver: request timed out"},
		"nobody listens": {
			answered(&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{Port: 6443}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}), Unreachable, "dial: connect: connection refused",
		},
		"a connection that breaks, whatever its port": {
			answered(&net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{Port: 51234}, Addr: &net.TCPAddr{Port: 6443}, Err: os.NewSyscallError("read", syscall.ECONNRESET)}), Unreachable, "read: read: connection reset by peer",
		},
		"no answer":            {answered(context.DeadlineExceeded), Unreachable, "no answer within 2s"},
		"somebody else's name": {answered(errors.New("x509: certificate signed by unknown authority")), Unreachable, "x509: certificate signed by unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CodeOf(c.err); got != c.code {
				t.Errorf("it is %v, want %v", got, c.code)
			}
			if c.err == nil {
				return
			}
			if got := ReasonOf(c.err); got != c.reason {
				t.Errorf("the reason is\n%s\nwant\n%s", got, c.reason)
			}
			if got := CodeOf(fmt.Errorf("patching: %w", c.err)); got != c.code {
				t.Errorf("wrapped, it is %v", got)
			}
		})
	}
}

func TestReasonIsOneShortLine(t *testing.T) {
	got := ReasonOf(apierrors.NewBadRequest("a\n\tb " + strings.Repeat("ä", 1000)))
	if strings.ContainsAny(got, "\n\t") || len(got) > 305 || !strings.HasPrefix(got, "a b ä") || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// TestFaults: each fault of a write is told with the next step, holds back the Services
// after it, is tried again at a bounded pace, and goes away with the first success.
func TestFaults(t *testing.T) {
	const roleLine = `{apiGroups: [""], resources: [services], resourceNames: [pg-writer], verbs: [get, list, watch, patch]}`
	for name, c := range map[string]struct {
		fault func(*testing.T, request) error
		want  Condition
	}{
		"RBAC": {
			func(_ *testing.T, q request) error { return rbac(q) },
			Condition{Forbidden, "service example/pg-writer", `services "pg-writer" is forbidden: User "poolwright" cannot patch resource "services" in API group "" in the namespace "example"`, "add to the Role: " + roleLine},
		},
		"32 admission": {
			func(t *testing.T, _ request) error { return status(t, fmt.Sprintf(policyDenied, "Invalid", 422)) },
			Condition{Denied, "service example/pg-writer", `services "pg-writer" is forbidden: ValidatingAdmissionPolicy 'no' with binding 'no' denied request: not on my watch`, "let that policy pass poolwright's updates of it (field manager poolwright-failover); poolwright doctor tries one"},
		},
		"validation": {
			func(t *testing.T, _ request) error {
				return status(t, `{"status":"Failure","message":"Service \"pg-writer\" is invalid","reason":"Invalid","details":{"name":"pg-writer","kind":"Service"},"code":422}`)
			},
			Condition{Invalid, "service example/pg-writer", `Service "pg-writer" is invalid`, "poolwright doctor --cluster pg"},
		},
		"33 no API server": {
			func(*testing.T, request) error { return errRefused },
			Condition{Unreachable, "api server", "dial: connection refused", "Git goes on alone; look at the API server, and at the way to it"},
		},
		"33 no answer": {
			func(*testing.T, request) error { return errHangs },
			Condition{Unreachable, "api server", "no answer within 2s", "Git goes on alone; look at the API server, and at the way to it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(t *testing.T, b *bed) {
				b.start()
				b.obey(func(q request) error {
					if q.Verb == "patch" && q.Name == "pg-writer" {
						return c.fault(t, q)
					}
					return nil
				})
				b.keeper.Want(wantWriter(8, "b"))
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				v := b.keeper.Verdict()
				if v.Phase != Blocked || len(v.Conditions) != 1 || v.Conditions[0] != c.want {
					t.Errorf("phase %v,\n%+v\nwant\n%+v", v.Phase, v.Conditions, c.want)
				}
				if b.selects(Reader) != "a" {
					t.Error("the Reader was moved before the Writer")
				}
				tries := b.writes(Writer)
				expectPace(t, tries)
				if n := len(tries); n < 600/8 || n > 10+600/2 {
					t.Errorf("%d tries in ten minutes", n)
				}
				b.obey(nil)
				time.Sleep(requestTimeout + maxGap + time.Second) // one that hangs may still be under way
				synctest.Wait()
				if v := b.keeper.Verdict(); b.selects(Writer) != "b" || b.selects(Reader) != "b" || len(v.Conditions) > 0 || v.Phase != Idle {
					t.Errorf("afterwards: %+v", v)
				}
			})
		})
	}
}

// expectPace checks that writes to one object are at least the smallest gap apart.
func expectPace(t *testing.T, at []time.Time) {
	t.Helper()
	for i := 1; i < len(at); i++ {
		if gap := at[i].Sub(at[i-1]); gap < minGap {
			t.Errorf("write %d came %v after the one before", i, gap)
		}
	}
}

func TestFaultOfNobodyGoesAwayWhenNothingIsToBeWritten(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		b.obey(func(q request) error {
			if q.Verb == "patch" && q.Resource == "services" {
				return rbac(q)
			}
			return nil
		})
		b.keeper.Want(wantWriter(8, "b"))
		synctest.Wait()
		b.steer(Writer, "b", "kustomize-controller")
		b.steer(Reader, "b", "kustomize-controller")
		time.Sleep(time.Second)
		synctest.Wait()
		if v := b.keeper.Verdict(); len(v.Conditions) > 0 || v.Phase != Idle {
			t.Errorf("still: %+v", v)
		}
	})
}

func TestFaultOfTheMirrorHoldsNothingBack(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		b.obey(func(q request) error {
			if q.Resource == "configmaps" && q.Verb != "watch" {
				return rbac(q)
			}
			return nil
		})
		b.keeper.Want(wantWriter(8, "b"))
		time.Sleep(10 * time.Second)
		b.steer(Reader, "a", "somebody")
		synctest.Wait()
		v := b.keeper.Verdict()
		if b.selects(Reader) != "b" || v.Phase == Blocked || len(v.Conditions) != 1 ||
			v.Conditions[0].Hint != `add to the Role: {apiGroups: [""], resources: [configmaps], resourceNames: [pg-control], verbs: [get, list, watch, patch]}, {apiGroups: [""], resources: [configmaps], verbs: [create]}` {
			t.Errorf("the Reader selects %s: %+v", b.selects(Reader), v)
		}
	})
}

func TestUnreachableIsSaidOnce(t *testing.T) {
	inBed(t, func(t *testing.T, b *bed) {
		b.start()
		b.keeper.Want(wantWriter(8, "b"))
		synctest.Wait()
		b.obey(func(q request) error {
			if q.Verb == "patch" {
				return errHangs
			}
			return errRefused
		})
		b.steer(Writer, "a", "somebody")
		synctest.Wait()
		b.cutWatches()
		time.Sleep(time.Minute)
		synctest.Wait()
		c := b.keeper.Verdict().Conditions
		if len(c) != 1 || c[0].Code != Unreachable || c[0].Object != "api server" {
			t.Errorf("the conditions are %+v", c)
		}
		b.obey(nil)
		time.Sleep(2*maxGap + time.Second)
		b.steer(Writer, "a", "somebody")
		synctest.Wait()
		if c := b.keeper.Verdict().Conditions; len(c) > 0 || b.selects(Writer) != "b" {
			t.Errorf("afterwards: %+v", c)
		}
	})
}
