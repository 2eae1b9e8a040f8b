package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CodeOf says what the error of [Do] means: Forbidden, Denied, ServiceMissing,
// Invalid, NotOurs or Unreachable. 0 means that the world has moved since the write was
// decided (a test of its patch failed, or another write came first): look again.
// It is 0 for nil too.
func CodeOf(err error) Code {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errForeign):
		return NotOurs
	case !errors.As(err, &status):
		return Unreachable // no answer, or none of an API server
	}
	return codeOfStatus(status.Status())
}

// codeOfStatus reads an answer. The API server tells kinds of refusal apart by
// their text only: a policy may answer with the code and reason of RBAC or of
// validation, a webhook with any code, and a failed test of a JSON Patch has the code and reason of
// validation but names no object and no cause
// (k8s.io/apiserver: endpoints/handlers/patch.go, admission/plugin/policy/validating/dispatcher.go, admission/plugin/webhook/errors).
func codeOfStatus(s metav1.Status) Code {
	switch {
	case isAdmission(s.Message):
		return Denied
	case s.Code == http.StatusConflict, isFailedTest(s):
		return 0
	case s.Code == http.StatusNotFound:
		return ServiceMissing
	case s.Code == http.StatusUnauthorized, s.Code == http.StatusForbidden && strings.Contains(s.Message, " cannot "):
		return Forbidden
	case s.Code == http.StatusForbidden: // a quota, or another built-in admission plug-in
		return Denied
	case s.Code == http.StatusTooManyRequests, s.Code >= http.StatusInternalServerError:
		return Unreachable
	}
	return Invalid
}

// isAdmission reports whether a policy or a webhook refused, or a webhook that must be asked could not be.
func isAdmission(message string) bool {
	return strings.Contains(message, " denied request: ") || strings.Contains(message, "admission webhook ") || strings.Contains(message, "failed calling webhook ")
}

func isFailedTest(s metav1.Status) bool {
	return s.Code == http.StatusUnprocessableEntity && (s.Details == nil || s.Details.Name == "" && len(s.Details.Causes) == 0)
}

// ReasonOf is an error in one line without what changes while nothing happens: no port of this side, no address of a request.
func ReasonOf(err error) string {
	var status apierrors.APIStatus
	var op *net.OpError
	switch {
	case errors.As(err, &status):
		return line(status.Status().Message)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %v", requestTimeout)
	case errors.As(err, &op):
		return op.Op + ": " + op.Err.Error()
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return line(err.Error())
}

// line is a text in one line, and not a long one: some answers quote the whole object.
func line(text string) string {
	const limit = 300
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// writeCondition is what people should know of a write that failed.
func writeCondition(names Names, w Write, err error) Condition {
	c := Condition{Code: CodeOf(err), Object: names.target(w), Detail: ReasonOf(err)}
	switch c.Code {
	case Forbidden:
		c.Hint = "add to the Role: " + names.rule(w)
	case Denied:
		c.Hint = "let that policy pass poolwright's updates of it (field manager " + FieldManager + "); poolwright doctor tries one"
	case ServiceMissing:
		c.Hint = "let your GitOps tool apply the cluster's directory"
	case Invalid:
		c.Hint = "poolwright doctor --cluster " + names.Cluster
	case Unreachable:
		return unreachable(err)
	}
	return c
}

// readCondition is what people should know of a watch that fails; ok is false when it is nothing that lasts.
func readCondition(object, rule string, err error) (c Condition, ok bool) {
	switch CodeOf(err) {
	case Forbidden:
		return Condition{Code: Forbidden, Object: object, Detail: ReasonOf(err), Hint: "add to the Role: " + rule}, true
	case Unreachable:
		return unreachable(err), err != nil
	}
	return Condition{}, false
}

// unreachable is about the API server, whatever was asked of it.
func unreachable(err error) Condition {
	return Condition{Code: Unreachable, Object: "api server", Detail: ReasonOf(err), Hint: "Git goes on alone; look at the API server, and at the way to it"}
}

// target is the object of a write.
func (n Names) target(w Write) string {
	if w.Role == "" {
		return n.object("configmap", w.Name)
	}
	return n.object("service", w.Name)
}

// rule is the line of the Role that a write needs.
func (n Names) rule(w Write) string {
	if w.Role == "" {
		return rule("configmaps", w.Name, "get, list, watch, patch") + `, {apiGroups: [""], resources: [configmaps], verbs: [create]}`
	}
	return rule("services", w.Name, "get, list, watch, patch")
}

// rule is a line of a Role; without a name it is about all objects of the kind.
func rule(resource, name, verbs string) string {
	if name != "" {
		name = ", resourceNames: [" + name + "]"
	}
	return fmt.Sprintf(`{apiGroups: [""], resources: [%s]%s, verbs: [%s]}`, resource, name, verbs)
}
