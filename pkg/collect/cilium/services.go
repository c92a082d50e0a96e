package cilium

import (
	"fmt"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/jsonlines"
)

// DecodeServices makes the service table of the agent's own list, the output of
// `cilium-dbg service list -o json` (Cilium 1.20.2, api/v1/models/service.go), as
// realized or, without that, as specified. An error means that the file is not
// such a list; an entry the table cannot hold is in Unparsed with the reason
// after "#".
//
// The list has one NodePort for all addresses of the node and keeps backends that
// take no new connections; terminating ones take them while none is active. It
// tells neither how a backend is chosen, nor affinity, nor masquerade, nor what
// happens without backends. Where the two traffic policies differ, a frontend is
// there twice, the second time for connections from inside.
func DecodeServices(raw []byte) (collect.ServiceTable, error) {
	table, err := decodeServices(raw)
	if err != nil {
		return collect.ServiceTable{}, fmt.Errorf("%s: %w", ServicesFile, err)
	}
	return table, nil
}

func decodeServices(raw []byte) (collect.ServiceTable, error) {
	root, err := jsonlines.Parse(raw)
	if err != nil {
		return collect.ServiceTable{}, err
	}
	services, err := root.Elements()
	if err != nil {
		return collect.ServiceTable{}, err
	}
	table := collect.ServiceTable{Encoding: AgentEncoding, Frontends: []collect.Frontend{}}
	var rest unparsed
	var internal []collect.Frontend
	seen := map[address]bool{}
	for _, service := range services {
		entry, err := newAgentEntry(service)
		if err != nil {
			return collect.ServiceTable{}, err
		}
		frontend, at, refusal := entry.frontend(&rest)
		switch {
		case refusal == "" && seen[at]:
			refusal = "listed before"
		case refusal == "" && at.internal:
			internal = append(internal, frontend)
		case refusal == "":
			table.Frontends = append(table.Frontends, frontend)
		}
		seen[at] = true
		if refusal != "" {
			rest.add(entry.line, refusal)
			for _, b := range frontend.Backends {
				rest.add(b.Line, refusal)
			}
		}
	}
	table.Frontends = append(table.Frontends, internal...)
	table.Unparsed = rest.sorted()
	table.Sort()
	return table, nil
}
