package check

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/traffic"
)

// virtual is what keeps the state by which IPVS selects: a virtual service of a
// node.
type virtual struct {
	node    string
	address netip.AddrPort
}

func (v virtual) String() string {
	if v.node == "" {
		return v.address.String()
	}
	return v.address.String() + " on " + v.node
}

// rotates: with n backends in strict rotation, no n connections in a row have
// one twice.
func (in subject) rotates(p collect.EntryPoint, n int, j *judgement) {
	answers := answered(p)
	if len(answers) != len(p.Attempts) || len(answers) <= n {
		j.undecided(p.From, collect.Ref{File: p.File}, "%d of %d connections were answered: no rotation can be seen", len(answers), len(p.Attempts))
		return
	}
	for i, a := range answers {
		for _, before := range answers[max(0, i-n+1):i] {
			if a.Backend.PodIP == before.Backend.PodIP {
				in.outOfTurn(p, a, j, "connections %d and %d were both answered by %s, want the %d backends in turn", before.Sequence, a.Sequence, a.Backend.Pod, n)
				return
			}
		}
	}
	j.quote(p.From, collect.Ref{File: p.File}, "%d connections in strict rotation", len(answers))
}

// connection is an attempt and the entry point it was made through.
type connection struct {
	collect.EntryPoint
	traffic.Attempt
}

// leastConnections: IPVS counts a connection against its backend while it is open
// and, as an inactive one, as long as it stays in TIME_WAIT. The experiment makes
// one connection after the other and closes each before the next, so that of all
// through one virtual service, whatever the entry point, no backend ever has more
// than one more than another.
func (in subject) leastConnections(ready []collect.Endpoint, j *judgement) {
	var order []virtual
	through := map[virtual][]connection{}
	in.through(j, func(p collect.EntryPoint) {
		if len(answered(p)) != len(p.Attempts) || len(p.Attempts) <= len(ready) {
			j.undecided(p.From, collect.Ref{File: p.File}, "%d of %d connections were answered: no balance can be seen", len(answered(p)), len(p.Attempts))
		}
		for _, a := range p.Attempts {
			v := virtual{p.EntryNode, a.DialedAddress}
			if through[v] == nil {
				order = append(order, v)
			}
			through[v] = append(through[v], connection{p, a})
		}
	})
	if len(j.open) > 0 {
		return // a connection that is not known counts too
	}
	for _, v := range order {
		in.balanced(v, through[v], ready, j)
	}
	j.note = "Connections made one after the other and closed are spread by lc as by rr, in turn: which of the two it is kernel.table tells, by the scheduler."
}

// balanced judges the connections through one virtual service in their order.
func (in subject) balanced(v virtual, connections []connection, ready []collect.Endpoint, j *judgement) {
	counts := map[netip.Addr]int{}
	var points []collect.EntryPoint
	for i, c := range connections {
		if i == 0 || connections[i-1].Name != c.Name {
			points = append(points, c.EntryPoint)
		}
		counts[c.Backend.PodIP]++
		least := slices.MinFunc(ready, func(a, b collect.Endpoint) int { return counts[a.Address] - counts[b.Address] })
		if has := counts[c.Backend.PodIP]; has > counts[least.Address]+1 {
			in.outOfTurn(c.EntryPoint, c.Attempt, j, "with connection %d, %s has answered %d of the first %d to %s and %s only %d, want none more than one ahead",
				c.Sequence, c.Backend.Pod, has, i+1, v, least.Pod, counts[least.Address])
			return
		}
	}
	for _, p := range points {
		j.quote(p.From, collect.Ref{File: p.File}, "%d connections to %s, no backend ever more than one ahead", len(connections), v)
	}
}

// outOfTurn contradicts an order, unless IPVS lists connections to the same virtual
// service that are not the experiment's: they took turns too.
func (in subject) outOfTurn(p collect.EntryPoint, a traffic.Attempt, j *judgement, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	v := virtual{p.EntryNode, a.DialedAddress}
	others, listed := in.others(v)
	switch file := evidence.ScheduledFile(v.node); {
	case len(others) > 0:
		j.undecided(v.node, collect.Ref{File: file, Line: others[0].Line}, "%s: %s; but IPVS lists %s", p.Name, text, inWords(v, others))
	case listed:
		j.contradict(p.From, line(p, a), "%s; IPVS lists nobody else's connection to %s (%s)", text, v, file)
	default:
		j.contradict(p.From, line(p, a), "%s", text)
	}
}

// others are the connections to a virtual service that IPVS lists and this run has
// not made; listed is false where its list was not read.
func (in subject) others(v virtual) (others []collect.ScheduledConnection, listed bool) {
	scheduled := in.state(v.node).Scheduled
	if scheduled == nil {
		return nil, false
	}
	own := evidence.Dialled(in.Evidence, v.address)
	for _, c := range scheduled.Connections {
		if c.Virtual == v.address && !own[c.Client] {
			others = append(others, c)
		}
	}
	return others, true
}

// noteOthers says who else used the virtual services where that was of no
// consequence.
func (in subject) noteOthers(j *judgement) {
	seen := map[virtual]bool{}
	for _, p := range in.Traffic {
		for _, a := range p.Attempts {
			v := virtual{p.EntryNode, a.DialedAddress}
			if others, _ := in.others(v); len(others) > 0 && !seen[v] {
				j.note = strings.TrimSpace(fmt.Sprintf("%s IPVS lists %s, and no turn was missed.", j.note, inWords(v, others)))
			}
			seen[v] = true
		}
	}
}

// inWords is how many connections of others a virtual service had, and whose.
func inWords(v virtual, others []collect.ScheduledConnection) string {
	var clients []string
	for _, c := range others {
		clients = append(clients, c.Client.Addr().String())
	}
	slices.Sort(clients)
	them := "connections"
	if len(others) == 1 {
		them = "connection"
	}
	return fmt.Sprintf("%d %s to %s that this run has not made, from %s", len(others), them, v, strings.Join(slices.Compact(clients), ", "))
}
