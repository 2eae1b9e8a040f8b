package rds

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/rds"
	"github.com/aws/aws-sdk-go-v2/service/rds/types"

	"github.com/poolwright/poolwright/discovery"
)

const (
	pageSize = 100 // the most that RDS gives
	maxPages = 50
)

// describe returns the instances of the cluster, sorted by name.
func (e *Enricher) describe(ctx context.Context) ([]discovery.MetaInstance, error) {
	found := map[string]discovery.MetaInstance{}
	if err := e.describeMembers(ctx, found); err != nil {
		return nil, fmt.Errorf("DescribeDBClusters: %w", err)
	}
	if err := e.describeInstances(ctx, found); err != nil {
		return nil, fmt.Errorf("DescribeDBInstances: %w", err)
	}
	if len(found) == 0 {
		return nil, notFoundError{cluster: e.cluster, region: e.region.name}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b discovery.MetaInstance) int { return cmp.Compare(a.Name, b.Name) }), nil
}

// describeMembers finds the names and who is the writer.
func (e *Enricher) describeMembers(ctx context.Context, found map[string]discovery.MetaInstance) error {
	return e.region.pages(ctx, func(ctx context.Context, marker *string) (*string, error) {
		if marker == nil {
			e.begin()
		}
		out, err := e.region.client.DescribeDBClusters(ctx, &sdk.DescribeDBClustersInput{
			Filters: of(e.cluster), MaxRecords: aws.Int32(pageSize), Marker: marker,
		})
		if err != nil {
			return nil, err
		}
		for _, c := range out.DBClusters {
			if !strings.EqualFold(aws.ToString(c.DBClusterIdentifier), e.cluster) {
				continue
			}
			for _, m := range c.DBClusterMembers {
				name := aws.ToString(m.DBInstanceIdentifier)
				found[name] = discovery.MetaInstance{Name: name, Writer: aws.ToBool(m.IsClusterWriter)}
			}
		}
		return out.Marker, nil
	})
}

// describeInstances adds everything else.
func (e *Enricher) describeInstances(ctx context.Context, found map[string]discovery.MetaInstance) error {
	return e.region.pages(ctx, func(ctx context.Context, marker *string) (*string, error) {
		out, err := e.region.client.DescribeDBInstances(ctx, &sdk.DescribeDBInstancesInput{
			Filters: of(e.cluster), MaxRecords: aws.Int32(pageSize), Marker: marker,
		})
		if err != nil {
			return nil, err
		}
		for _, i := range out.DBInstances {
			if !strings.EqualFold(aws.ToString(i.DBClusterIdentifier), e.cluster) {
				continue
			}
			name := aws.ToString(i.DBInstanceIdentifier)
			found[name] = discovery.MetaInstance{
				Name:     name,
				Resource: aws.ToString(i.DbiResourceId),
				Zone:     aws.ToString(i.AvailabilityZone),
				Class:    aws.ToString(i.DBInstanceClass),
				Status:   aws.ToString(i.DBInstanceStatus),
				Writer:   found[name].Writer,
			}
		}
		return out.Marker, nil
	})
}

// of is the filter that leaves one cluster.
func of(cluster string) []types.Filter {
	return []types.Filter{{Name: aws.String("db-cluster-id"), Values: []string{cluster}}}
}

// pages calls get until there is no further marker.
func (r *Region) pages(ctx context.Context, get func(context.Context, *string) (*string, error)) error {
	var marker *string
	seen := map[string]bool{}
	for range maxPages {
		err := r.do(ctx, func(ctx context.Context) (err error) {
			marker, err = get(ctx, marker)
			return err
		})
		if err != nil {
			return err
		}
		if aws.ToString(marker) == "" {
			return nil
		}
		if seen[*marker] {
			return endlessError("a marker came back")
		}
		seen[*marker] = true
	}
	return endlessError(fmt.Sprintf("more than %d pages", maxPages))
}
