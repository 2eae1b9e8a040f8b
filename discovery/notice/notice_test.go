package notice

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// As RDS publishes to a topic. The texts are of AWS's documentation.
const failedOver = `{"Event Source":"db-cluster","Event Time":"2024-03-01 11:59:58.123","Identifier Link":"https://console.aws.amazon.com/rds/home?region=eu-west-1#dbcluster:id=example-pg",` +
	`"Source ID":"example-pg","Source ARN":"arn:aws:rds:eu-west-1:123456789012:cluster:example-pg",` +
	`"Event ID":"http://docs.amazonwebservices.com/AmazonRDS/latest/UserGuide/USER_Events.html#RDS-EVENT-0071","Event Message":"Completed failover to DB instance: example-pg-2"}`

var overToTwo = Notice{
	Source: "example-pg", Of: Cluster, Region: "eu-west-1", Kind: Failover, EventID: "RDS-EVENT-0071",
	Message: "Completed failover to DB instance: example-pg-2", At: time.Date(2024, 3, 1, 11, 59, 58, 123e6, time.UTC),
}

// detailOf is the inner part of an event of EventBridge.
func detailOf(kind, arn, id, event, category string) string {
	return fmt.Sprintf(`{"EventCategories":[%q],"SourceType":%q,"SourceArn":%q,"Date":"2024-03-01T11:59:58.123Z","Message":"Something happened.","SourceIdentifier":%q,"EventID":%q}`,
		category, kind, arn, id, event)
}

// bridge is an event as EventBridge sends it.
func bridge(kind, detail string) string {
	return fmt.Sprintf(`{"version":"0","id":"844e2571-85d4-695f-b930-0153b71dcb42","detail-type":%q,"source":"aws.rds","account":"123456789012",`+
		`"time":"2024-03-01T11:59:59Z","region":"eu-west-1","resources":["arn:aws:rds:eu-west-1:123456789012:cluster:example-pg"],"detail":%s}`, kind, detail)
}

const (
	clusterARN  = "arn:aws:rds:eu-west-1:123456789012:cluster:example-pg"
	instanceARN = "arn:aws-cn:rds:cn-north-1:123456789012:db:Example-pg-1"
)

func something(of Resource, source, region, id string, kind Kind) Notice {
	return Notice{Source: source, Of: of, Region: region, Kind: kind, EventID: id, Message: "Something happened.", At: overToTwo.At}
}

func TestEachFormOfAnEventIsRead(t *testing.T) {
	replace := func(old, text string) string { return strings.Replace(failedOver, old, text, 1) }
	at0 := func(n Notice, when time.Time) Notice { n.At = when; return n }
	noARN := overToTwo
	noARN.Region = ""
	restarted := detailOf("DB_INSTANCE", instanceARN, "rds:example-pg-1", "RDS-EVENT-0006", "availability")
	started := detailOf("CLUSTER", clusterARN, "example-pg", "RDS-EVENT-0073", "failover")
	for name, c := range map[string]struct {
		text string
		want Notice
	}{
		"published to a topic":                        {failedOver, overToTwo},
		"published without an ARN":                    {replace(`"Source ARN":"`+clusterARN+`",`, ""), noARN},
		"published without a time":                    {replace("2024-03-01 11:59:58.123", ""), at0(overToTwo, at)},
		"published in whole seconds":                  {replace(":58.123", ":58"), at0(overToTwo, overToTwo.At.Truncate(time.Second))},
		"published with more than we know":            {replace(`{`, `{"Tags":{"a":"b"},"Event Categories":["failover"],`), overToTwo},
		"by EventBridge, of a cluster":                {bridge("RDS DB Cluster Event", started), something(Cluster, "example-pg", "eu-west-1", "RDS-EVENT-0073", Failover)},
		"by EventBridge, of an instance, in China":    {bridge("RDS DB Instance Event", restarted), something(Instance, "example-pg-1", "cn-north-1", "RDS-EVENT-0006", Availability)},
		"by EventBridge, its detail alone":            {started, something(Cluster, "example-pg", "eu-west-1", "RDS-EVENT-0073", Failover)},
		"by EventBridge, of an instance, without ARN": {detailOf("DB_INSTANCE", "", "rds:example-pg-1", "RDS-EVENT-0003", "deletion"), something(Instance, "example-pg-1", "", "RDS-EVENT-0003", Deletion)},
		"an id we do not know, by its category":       {detailOf("CLUSTER", clusterARN, "", "RDS-EVENT-9999", "global failover"), something(Cluster, "example-pg", "eu-west-1", "RDS-EVENT-9999", Failover)},
		"an id and a category we do not know":         {detailOf("CLUSTER", clusterARN, "", "RDS-EVENT-9999", "backtrack"), something(Cluster, "example-pg", "eu-west-1", "RDS-EVENT-9999", Other)},
		"a text of many lines":                        {replace("Completed failover", `Completed\n\t failover\u001b`), overToTwo},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse([]byte(c.text), at)
			must(t, err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsNoEventOfOurs(t *testing.T) {
	arn := func(rest string) string { return "arn:aws:rds:eu-west-1:123456789012:" + rest }
	for name, c := range map[string]struct {
		text, says string
	}{
		"a sentence":                   {"This is a message to notify that RDS will attempt to send you event notifications", "no JSON object"},
		"nothing":                      {"", "no JSON object"},
		"a list":                       {"[]", "no JSON object"},
		"two events":                   {failedOver + failedOver, "no JSON object"},
		"an object about nothing":      {"{}", errOther.Error()},
		"an alarm of CloudWatch":       {`{"AlarmName":"cpu","NewStateValue":"ALARM"}`, errOther.Error()},
		"an event of another service":  {`{"source":"aws.ec2","detail-type":"RDS DB Cluster Event","detail":{}}`, errOther.Error()},
		"an event of a snapshot":       {bridge("RDS DB Cluster Snapshot Event", "{}"), errOther.Error()},
		"an event without a detail":    {bridge("RDS DB Cluster Event", "null"), errOther.Error()},
		"an automated snapshot (0169)": {detailOf("CLUSTER_SNAPSHOT", arn("cluster-snapshot:rds:x"), "x", "RDS-EVENT-0169", "backup"), errOther.Error()},
		"a parameter group":            {detailOf("DB_PARAM", arn("pg:x"), "x", "RDS-EVENT-0037", "configuration change"), errOther.Error()},
		"an ARN that says snapshot, a type that says cluster": {detailOf("CLUSTER", arn("cluster-snapshot:x"), "x", "RDS-EVENT-0071", "failover"), errOther.Error()},
		"a type of its own":                  {detailOf("PROXY", "", "x", "RDS-EVENT-0204", ""), errOther.Error()},
		"an event without an id":             {detailOf("CLUSTER", clusterARN, "", "", "failover"), errShape.Error()},
		"an event with an odd id":            {detailOf("CLUSTER", clusterARN, "", "RDS-EVENT-71", "failover"), errShape.Error()},
		"an event with a name that is none":  {detailOf("CLUSTER", arn("cluster:../x"), "", "RDS-EVENT-0071", "failover"), errShape.Error()},
		"an event with a number for a name":  {`{"EventID":"RDS-EVENT-0071","SourceIdentifier":7}`, errShape.Error()},
		"a published event of numbers":       {`{"Event ID":"RDS-EVENT-0071","Source ID":7}`, errShape.Error()},
		"an event of EventBridge of numbers": {`{"detail":{},"source":7}`, errShape.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := parse([]byte(c.text), at); err == nil || !strings.Contains(err.Error(), c.says) || got != (Notice{}) {
				t.Errorf("got %+v and %v, want %q", got, err, c.says)
			}
		})
	}
}

// The ids of USER_Events.Messages, with AWS's words for them.
func TestWhatTheIDsMean(t *testing.T) {
	for kind, ids := range map[Kind]map[string]string{
		Failover: {
			"0069": "a failover for the DB cluster has failed", "0070": "promoting the previous primary again",
			"0071": "completed failover to DB instance", "0072": "started same AZ failover to DB instance",
			"0073": "started cross AZ failover to DB instance", "0181": "the failover of the global database has started",
			"0185": "the global database failover is finished on the primary DB cluster", "0013": "Multi-AZ instance failover started",
			"0015": "Multi-AZ failover to standby complete", "0034": "not attempting a requested failover", "0049": "Multi-AZ instance failover completed",
			"0050": "Multi-AZ instance activation started", "0051": "Multi-AZ instance activation completed", "0065": "recovered from partial failover",
		},
		Availability: {
			"0004": "DB instance shutdown", "0006": "DB instance restarted", "0022": "error restarting", "0026": "offline maintenance",
			"0087": "DB instance stopped", "0151": "DB cluster started", "0021": "recovery of the DB instance is complete",
		},
		Creation:            {"0005": "DB instance created", "0170": "DB cluster created"},
		Deletion:            {"0003": "DB instance deleted", "0171": "DB cluster deleted"},
		ConfigurationChange: {"0014": "the DB instance class has changed", "0172": "renamed DB cluster", "0025": "converted to Multi-AZ"},
		Other:               {"0001": "backing up DB instance", "0169": "automated cluster snapshot created", "0044": "operator-issued notification"},
	} {
		for id, what := range ids {
			if got := kindOf("RDS-EVENT-"+id, nil); got != kind {
				t.Errorf("%s (%s) is %s, want %s", id, what, got, kind)
			}
		}
	}
}

func TestWords(t *testing.T) {
	got := []string{Other.String(), Failover.String(), Availability.String(), Creation.String(), Deletion.String(), ConfigurationChange.String(), Kind(9).String(), Instance.String(), Cluster.String()}
	want := []string{"other", "failover", "availability", "creation", "deletion", "configuration-change", "(9)", "instance", "cluster"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestALongTextIsCut(t *testing.T) {
	if got := line(strings.Repeat("é", lineLimit)); got != strings.Repeat("é", lineLimit/2) {
		t.Errorf("got %d bytes", len(got))
	}
}

// FuzzParse: any text is an event whose parts are fit to be shown, or none.
func FuzzParse(f *testing.F) {
	f.Add([]byte(failedOver))
	f.Add([]byte(bridge("RDS DB Cluster Event", detailOf("CLUSTER", clusterARN, "x", "RDS-EVENT-0073", "failover"))))
	f.Add([]byte(detailOf("DB_INSTANCE", "", "rds:x", "RDS-EVENT-0003", "")))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := parse(text, at)
		switch {
		case err != nil && n != Notice{}:
			t.Errorf("got %+v and %v", n, err)
		case err == nil && (!resourceName.MatchString(n.Source) || n.Of == 0 || len(n.Message) > lineLimit || strings.ContainsAny(n.Message, "\n\x1b")):
			t.Errorf("got %+v", n)
		}
	})
}
