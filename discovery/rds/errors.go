package rds

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// notFoundError is an answer without the cluster.
type notFoundError struct{ cluster, region string }

func (e notFoundError) Error() string {
	return fmt.Sprintf("no cluster %s in region %s", e.cluster, e.region)
}

// endlessError is a list that does not come to its end.
type endlessError string

func (e endlessError) Error() string { return "reading pages without end: " + string(e) }

// credentialsError is a call that could not be signed.
type credentialsError struct{ err error }

func (e credentialsError) Error() string { return "finding AWS credentials: " + e.err.Error() }
func (e credentialsError) Unwrap() error { return e.err }

// tagged tells a failure to find credentials from a failed call.
type tagged struct{ aws.CredentialsProvider }

func (t tagged) Retrieve(ctx context.Context) (aws.Credentials, error) {
	found, err := t.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return found, credentialsError{err}
	}
	return found, nil
}

// isThrottled knows AWS's codes for "too many", and the statuses that a proxy
// in between would use.
func isThrottled(err error) bool {
	var (
		api      smithy.APIError
		response *smithyhttp.ResponseError
	)
	if errors.As(err, &api) {
		if _, throttled := retry.DefaultThrottleErrorCodes[api.ErrorCode()]; throttled {
			return true
		}
	}
	if !errors.As(err, &response) {
		return false
	}
	status := response.HTTPStatusCode()
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// isDenied knows the codes with which AWS turns a caller away.
func isDenied(code string) bool {
	switch code {
	case "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthFailure", "OptInRequired",
		"InvalidClientTokenId", "UnrecognizedClientException", "ExpiredToken", "ExpiredTokenException",
		"SignatureDoesNotMatch", "MissingAuthenticationToken", "IncompleteSignature":
		return true
	}
	return false
}

// detail is the reason for people. The same failure gives the same text each
// time: no request id, no local port.
func detail(err error) string {
	var (
		creds credentialsError
		api   smithy.APIError
		op    *net.OpError
	)
	switch {
	case errors.As(err, &creds):
		return "no AWS credentials: " + oneLine(innermost(creds.err))
	case errors.As(err, &api):
		return verdict(err, api) + oneLine(api.ErrorCode()+": "+api.ErrorMessage())
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.As(err, &op):
		return oneLine(fmt.Sprintf("unreachable: %s %s: %v", op.Op, op.Addr, op.Err))
	}
	return oneLine(err.Error())
}

func verdict(err error, api smithy.APIError) string {
	switch {
	case isThrottled(err):
		return "throttled: "
	case isDenied(api.ErrorCode()):
		return "denied: "
	}
	return ""
}

// innermost skips the wrappers around the cause, which carry request ids.
func innermost(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// oneLine bounds a text that somebody else wrote.
func oneLine(s string) string {
	const most = 300
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
