package iptables

import (
	"net/netip"
	"slices"
	"strings"

	"service-dataplane/pkg/collect"
)

// Decode reads the service rules of one dump, as iptables-save prints it with
// or without "-c". An empty dump is an empty table: that variant holds nothing.
// An error names the line: the dump is truncated, leaves a table out, or is no
// dump.
//
// A frontend is Unparsed rather than listed where a rule on its way is not
// understood, where its backends do not add up, or where nothing leads to it.
//
// What the table cannot say: the source ranges of a load balancer (the frontend
// is listed as an allowed source sees it); what a frontend with local policy
// does for pods and for the node itself, which reach every backend; whether an
// address that rejects for want of endpoints is an external IP or a load
// balancer's (Kind is then "").
func Decode(raw []byte) (collect.ServiceTable, error) {
	d := decoder{
		at:      map[string]int{},
		marks:   map[string]collect.Masquerade{},
		chains:  map[string]*chain{},
		pods:    map[string]*translation{},
		entries: map[string]bool{},
		broken:  map[string]bool{},
	}
	if err := scan(raw, d.rule); err != nil {
		return collect.ServiceTable{}, err
	}
	return d.table(), nil
}

// decoder gathers what each rule says. Chains refer to chains that come later,
// so the table is put together at the end.
type decoder struct {
	fronts    []front        // rules of the nat table, addresses and node ports
	at        map[string]int // where in fronts an endpoint is
	loopback  []front        // node ports as 127.0.0.0/8 sees them
	rejected  []front        // rules of the filter table
	marks     map[string]collect.Masquerade
	nodeAddrs []netip.Addr            // whose ports are node ports; the zero Addr is any
	chains    map[string]*chain       // of one Service
	pods      map[string]*translation // KUBE-SEP- chains
	entries   map[string]bool         // jumps from the kernel's own chains
	broken    map[string]bool         // chains that hold a rule that is not understood
	unparsed  []collect.Line
}

// front is a rule that matches a Service's address or port.
type front struct {
	collect.Frontend
	chain, next string // where the rule stands and leads
}

func (d *decoder) rule(r *rule) {
	next := r.value(jumpTo)
	understood := false
	switch roleOf(r.table, r.chain) {
	case foreign:
		if strings.HasPrefix(next, kubePrefix) && r.says(jumpTo, comment|connectionState) {
			d.entries[r.table+" "+r.chain+" "+next] = true
		}
		return
	case bookkeeping:
		return
	case services:
		understood = d.service(r, next)
	case nodePorts:
		understood = d.nodePort(r, next)
	case rejections:
		understood = d.rejection(r, next)
	case external:
		understood = grow(d.chains, r.chain).enter(r, next)
	case firewall:
		understood = grow(d.chains, r.chain).filter(r, next)
	case cluster, local:
		understood = grow(d.chains, r.chain).choose(r, next)
	case backend:
		understood = grow(d.pods, r.chain).translate(r, next)
	}
	if !understood {
		d.unparsed = append(d.unparsed, r.line)
		d.broken[r.chain] = true
	}
}

// grow gives the chain's entry, a new one for its first rule.
func grow[T any](chains map[string]*T, name string) *T {
	if chains[name] == nil {
		chains[name] = new(T)
	}
	return chains[name]
}

// service reads a rule of KUBE-SERVICES in nat.
func (d *decoder) service(r *rule, next string) bool {
	if next == nodePortsChain {
		return d.nodePortEntry(r)
	}
	f, ok := r.frontend()
	if !ok || r.has&destination == 0 {
		return false
	}
	// Before KUBE-SVC- chains did it, masquerade was decided here.
	if m, ok := r.mark(); ok {
		if _, late := d.at[m.endpoint]; late {
			return false
		}
		d.marks[m.endpoint] = m.who
		return true
	}
	f.Kind, f.Service = named(r.value(comment))
	return f.Kind != "" && r.says(destination|port|comment|jumpTo, 0) && d.add(front{f, r.chain, next})
}

// named reads the comment of a rule of KUBE-SERVICES; kind is "" where it says
// something else.
func named(comment string) (kind collect.FrontendKind, service string) {
	if name, ok := strings.CutSuffix(comment, " cluster IP"); ok {
		return collect.ClusterIP, name
	}
	if name, ok := strings.CutSuffix(comment, " external IP"); ok {
		return collect.ExternalIP, name
	}
	if name, ok := strings.CutSuffix(comment, " loadbalancer IP"); ok {
		return collect.LoadBalancer, name
	}
	return "", ""
}

// nodePortEntry reads the jump that says whose ports are node ports: any local
// address (with or without localhost), or one address in a rule of its own.
func (d *decoder) nodePortEntry(r *rule) bool {
	var node netip.Addr
	ok := r.value(destinationType) == "LOCAL" &&
		(r.says(destinationType|jumpTo, comment) || r.saysNot(destinationType|jumpTo, comment, destination))
	if !ok && r.says(destination|jumpTo, comment) {
		var err error
		node, err = address(r.value(destination))
		ok = err == nil
	}
	if ok && !slices.Contains(d.nodeAddrs, node) {
		d.nodeAddrs = append(d.nodeAddrs, node)
	}
	return ok
}

// nodePort reads a rule of KUBE-NODEPORTS in nat.
func (d *decoder) nodePort(r *rule, next string) bool {
	// The same port from localhost has a rule of its own, to be counted.
	loopback := r.value(destination) == "127.0.0.0/8" && r.says(destination|port|accounting|jumpTo, comment)
	if loopback {
		r.has &^= destination
	}
	f, ok := r.frontend()
	f.Kind, f.Service = collect.NodePort, r.value(comment)
	if ok && loopback {
		d.loopback = append(d.loopback, front{f, r.chain, next})
		return true
	}
	return ok && r.says(port|jumpTo, comment) && d.add(front{f, r.chain, next})
}

// add keeps a frontend. The first rule for an endpoint takes every packet, so a
// second one is understood only if it leads to the same place.
func (d *decoder) add(f front) bool {
	if i, ok := d.at[f.Endpoint()]; ok {
		return d.fronts[i].next == f.next
	}
	d.at[f.Endpoint()] = len(d.fronts)
	d.fronts = append(d.fronts, f)
	return roleOf("nat", f.next).leads()
}

// rejection reads a rule of the filter table: a frontend without a backend.
func (d *decoder) rejection(r *rule, next string) bool {
	if r.chain == nodePortsChain && next == "ACCEPT" {
		// The port that a load balancer probes is the node's own.
		return r.says(port|jumpTo|comment, 0) && strings.HasSuffix(r.value(comment), " health check node port")
	}
	f, ok := r.frontend()
	f.NoBackends = strings.ToLower(next)
	var why bool
	if f.Service, why = strings.CutSuffix(r.value(comment), " has no endpoints"); !why {
		f.Service, why = strings.CutSuffix(f.Service, " has no local endpoints")
		f.Policy = collect.PolicyLocal
	}
	where := destination
	switch {
	case r.chain == servicesChain:
		f.Kind = collect.ClusterIP
	case r.value(destinationType) == "LOCAL":
		f.Kind, where = collect.NodePort, destinationType
	}
	if !ok || !why || next != "REJECT" && next != "DROP" || !r.says(where|port|comment|jumpTo, rejectWith) {
		return false
	}
	d.rejected = append(d.rejected, front{f, r.chain, next})
	return true
}
