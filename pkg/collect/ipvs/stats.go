package ipvs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"service-dataplane/pkg/collect"
)

// Totals count what passed all virtual services of a network namespace since
// IPVS came up there or its counters were zeroed.
type Totals struct {
	// Connections that were given a real server, of every protocol.
	Connections uint64
	// Packets and bytes from clients and to them.
	PacketsIn, PacketsOut, BytesIn, BytesOut uint64
	// Line holds them.
	Line collect.Line
}

// Headings above the totals.
const (
	totalsHeading = "   Total Incoming Outgoing         Incoming         Outgoing"
	unitsHeading  = "   Conns  Packets  Packets            Bytes            Bytes"
)

// Stats parses /proc/net/ip_vs_stats (ip_vs_stats_show in the kernel's
// net/netfilter/ipvs/ip_vs_ctl.c), whose numbers are hexadecimal. The rates
// below the totals, of the seconds before the file was read, are left out. An
// error names the line whose form the kernel does not print.
func Stats(raw []byte) (Totals, error) {
	for line := range lines(raw) {
		switch {
		case line.Number == 1 && line.Text != totalsHeading, line.Number == 2 && line.Text != unitsHeading:
			return Totals{}, lineError(StatsFile, line, errors.New("not a heading of /proc/net/ip_vs_stats"))
		case line.Number == 3:
			totals, err := parseTotals(strings.Fields(line.Text))
			if err != nil {
				return Totals{}, lineError(StatsFile, line, err)
			}
			totals.Line = line
			return totals, nil
		}
	}
	return Totals{}, errors.New(StatsFile + ": ends above line 3, the totals")
}

func parseTotals(fields []string) (Totals, error) {
	if len(fields) != 5 {
		return Totals{}, fmt.Errorf("%d counters, not 5", len(fields))
	}
	var totals Totals
	counters := []*uint64{&totals.Connections, &totals.PacketsIn, &totals.PacketsOut, &totals.BytesIn, &totals.BytesOut}
	for i, counter := range counters {
		var err error
		if *counter, err = strconv.ParseUint(fields[i], 16, 64); err != nil {
			return Totals{}, err
		}
	}
	return totals, nil
}
