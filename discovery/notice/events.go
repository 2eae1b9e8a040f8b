package notice

import "strings"

// kindOf knows the events that matter by their ids, and the others by their categories, which EventBridge tells.
//
// The ids and what they mean are from "Amazon RDS event categories and event messages" of both guides:
// https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/USER_Events.Messages.html and
// https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/USER_Events.Messages.html.
func kindOf(id string, categories []string) Kind {
	switch strings.TrimPrefix(id, "RDS-EVENT-") {
	// Of an Aurora or Multi-AZ cluster.
	case "0069", // the failover failed
		"0070", // the former writer is promoted again
		"0071", // the failover is complete
		"0072", // a failover within the zone has started
		"0073", // a failover to another zone has started
		// Of a global database.
		"0181", // it has started
		"0182", // the old writer takes no more writes
		"0183", // waiting for replication
		"0184", // the volumes have their new writer
		"0185", // it is complete
		"0186", // it was cancelled
		"0187", // it failed
		// Of a Multi-AZ instance.
		"0013", // it has started
		"0015", // it is complete, DNS to follow
		"0034", // one was asked for too soon after another
		"0049", // it is complete
		"0050", // the standby is being activated
		"0051", // the standby is active
		"0065": // recovered from a partial failover
		return Failover
	case "0004", // shut down
		"0006",         // restarted
		"0022",         // an error while restarting
		"0020", "0021", // recovery has started, is complete
		"0052", "0053", // the same of a Multi-AZ instance
		"0026", "0027", // offline for maintenance, and back
		"0031",         // failed for good
		"0087", "0088", // stopped, started
		"0150", "0151", // a cluster stopped, started
		"0153", "0154", // a cluster, an instance started after the longest time to be stopped
		"0221": // shut down for want of storage
		return Availability
	case "0003", "0171": // an instance, a cluster
		return Deletion
	case "0005", "0170":
		return Creation
	case "0009", "0010", "0011", "0012", "0014", "0016", "0017", "0024", "0025", "0029", "0030", "0092",
		"0172": // a cluster was renamed
		return ConfigurationChange
	}
	return kindOfCategory(categories)
}

// kindOfCategory is the kind of the first category that has one.
func kindOfCategory(categories []string) Kind {
	for _, c := range categories {
		switch strings.ToLower(c) {
		case "failover", "global failover":
			return Failover
		case "availability", "recovery":
			return Availability
		case "creation":
			return Creation
		case "deletion":
			return Deletion
		case "configuration change":
			return ConfigurationChange
		}
	}
	return Other
}
