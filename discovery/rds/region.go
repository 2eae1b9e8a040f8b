package rds

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	sdk "github.com/aws/aws-sdk-go-v2/service/rds"
	"github.com/aws/smithy-go/logging"
	"github.com/cenkalti/backoff/v5"
	"golang.org/x/time/rate"
)

// callTimeout bounds one call, with finding credentials for it.
const callTimeout = 10 * time.Second

// credentialsWindow is how long before their end credentials are renewed.
const credentialsWindow = 5 * time.Minute

// Load reads the SDK's usual configuration: environment, shared files, container
// and instance roles. AWS_ENDPOINT_URL_RDS names a private endpoint. Nothing is
// asked over the network yet; an error means that a file or a variable is bad.
func Load(ctx context.Context, region string) (aws.Config, error) {
	return config.LoadDefaultConfig(ctx,
		config.WithRegion(region),
		config.WithLogger(logging.Nop{}), // what goes wrong is in the errors
		config.WithCredentialsCacheOptions(func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = credentialsWindow }))
}

// Region is the one client for all clusters of a region. It may be used by
// several goroutines.
type Region struct {
	name    string
	client  *sdk.Client
	timeout time.Duration
	limit   *rate.Limiter

	// turn holds one value during a call, and guards what is below.
	turn   chan struct{}
	rest   *backoff.ExponentialBackOff
	resume time.Time
}

// NewRegion makes the client of config.Region. config.BaseEndpoint, when set,
// takes the place of AWS's own endpoint.
func NewRegion(config aws.Config) *Region {
	client := sdk.NewFromConfig(config, func(o *sdk.Options) {
		o.Retryer = aws.NopRetryer{}
		if o.Credentials != nil {
			o.Credentials = tagged{o.Credentials}
		}
	})
	rest := &backoff.ExponentialBackOff{
		InitialInterval: 2 * time.Second, Multiplier: 2, MaxInterval: 2 * time.Minute, RandomizationFactor: 0.5,
	}
	rest.Reset()
	return &Region{
		name: config.Region, client: client, timeout: callTimeout,
		turn: make(chan struct{}, 1), limit: rate.NewLimiter(rate.Every(time.Second), 1), rest: rest,
	}
}

// do makes one call when its turn has come.
func (r *Region) do(ctx context.Context, call func(context.Context) error) error {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := sleep(ctx, time.Until(r.resume)); err != nil {
		return err
	}
	if err := r.limit.Wait(ctx); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	err := call(bounded)
	switch {
	case isThrottled(err):
		r.resume = time.Now().Add(r.rest.NextBackOff())
	case err == nil:
		r.rest.Reset()
	}
	return err
}

// sleep returns early, with an error, when ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
