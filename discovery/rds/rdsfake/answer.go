package rdsfake

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

type response struct {
	XMLName   xml.Name
	Namespace string `xml:"xmlns,attr"`
	Result    result
	RequestID string `xml:"ResponseMetadata>RequestId"`
}

type result struct {
	XMLName   xml.Name
	Clusters  []dbCluster  `xml:"DBClusters>DBCluster,omitempty"`
	Instances []dbInstance `xml:"DBInstances>DBInstance,omitempty"`
	Marker    string       `xml:"Marker,omitempty"`
}

type dbCluster struct {
	ID      string   `xml:"DBClusterIdentifier"`
	Status  string   `xml:"Status"`
	Engine  string   `xml:"Engine"`
	Members []member `xml:"DBClusterMembers>DBClusterMember"`
}

type member struct {
	ID     string `xml:"DBInstanceIdentifier"`
	Writer bool   `xml:"IsClusterWriter"`
}

type dbInstance struct {
	ID       string `xml:"DBInstanceIdentifier"`
	Cluster  string `xml:"DBClusterIdentifier"`
	Resource string `xml:"DbiResourceId,omitempty"`
	Zone     string `xml:"AvailabilityZone,omitempty"`
	Class    string `xml:"DBInstanceClass,omitempty"`
	Status   string `xml:"DBInstanceStatus"`
	Engine   string `xml:"Engine"`
}

type errorResponse struct {
	XMLName   xml.Name `xml:"ErrorResponse"`
	Namespace string   `xml:"xmlns,attr"`
	Type      string   `xml:"Error>Type"`
	Code      string   `xml:"Error>Code"`
	Message   string   `xml:"Error>Message"`
	RequestID string   `xml:"RequestId"`
}

const (
	namespace = "http://rds.amazonaws.com/doc/2014-10-31/"
	engine    = "aurora-postgresql"
)

// answer is one page.
func (s *Server) answer(q query, f Faults) (response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	selected := s.selected(q, f)
	all := result{XMLName: xml.Name{Local: q.action + "Result"}}
	if q.action == "DescribeDBClusters" {
		all.Clusters = clustersOf(selected)
	} else {
		all.Instances = described(selected)
	}
	page, err := all.page(q, f, min(q.maxRecords, s.pageSize))
	return response{
		XMLName: xml.Name{Local: q.action + "Response"}, Namespace: namespace,
		Result: page, RequestID: s.requestID(),
	}, err
}

func (s *Server) selected(q query, f Faults) []Instance {
	if f.IgnoreFilters || len(q.clusters) == 0 {
		return s.instances
	}
	return slices.DeleteFunc(slices.Clone(s.instances), func(i Instance) bool { return !slices.Contains(q.clusters, i.Cluster) })
}

// requestID is another one with every call, as on AWS.
func (s *Server) requestID() string {
	return fmt.Sprintf("00000000-0000-0000-0000-%012d", len(s.calls))
}

// clustersOf are the clusters that have at least one instance, in the order of
// their first.
func clustersOf(instances []Instance) []dbCluster {
	var clusters []dbCluster
	for _, i := range instances {
		at := slices.IndexFunc(clusters, func(c dbCluster) bool { return c.ID == i.Cluster })
		if at < 0 {
			clusters = append(clusters, dbCluster{ID: i.Cluster, Status: "available", Engine: engine})
			at = len(clusters) - 1
		}
		if !i.Unlisted {
			clusters[at].Members = append(clusters[at].Members, member{i.ID, i.Writer})
		}
	}
	return clusters
}

func described(instances []Instance) []dbInstance {
	var all []dbInstance
	for _, i := range instances {
		if i.Undescribed {
			continue
		}
		status := i.Status
		if status == "" {
			status = "available"
		}
		all = append(all, dbInstance{i.ID, i.Cluster, i.Resource, i.Zone, i.Class, status, engine})
	}
	return all
}

// page cuts what the marker and the size leave. Exactly one of the two lists
// is filled.
func (all result) page(q query, f Faults, size int) (result, error) {
	total := len(all.Clusters) + len(all.Instances)
	if q.offset > total && !f.EndlessMarkers && !f.RepeatedMarker {
		return result{}, errors.New("marker is beyond the end")
	}
	from := min(q.offset, total)
	to := min(from+size, total)
	if all.Clusters != nil {
		all.Clusters = all.Clusters[from:to]
	} else {
		all.Instances = all.Instances[from:min(to, len(all.Instances))]
	}
	switch {
	case f.RepeatedMarker:
		all.Marker = q.action + ":1"
	case f.EndlessMarkers:
		all.Marker = fmt.Sprintf("%s:%d", q.action, q.offset+1)
	case to < total:
		all.Marker = fmt.Sprintf("%s:%d", q.action, to)
	}
	return all, nil
}

func writeError(w http.ResponseWriter, f Faults) {
	status := f.Status
	if status == 0 {
		status = http.StatusBadRequest
	}
	writeXML(w, status, errorResponse{Namespace: namespace, Type: "Sender", Code: f.Code, Message: f.Message, RequestID: "refused"})
}

func writeXML(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(v) // the client is gone
}
