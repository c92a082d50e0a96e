package iptables

import (
	"bytes"
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
	table, _, err := Read(raw)
	return table, err
}

// Read is Decode and Count of a dump that is read once.
func Read(raw []byte) (collect.ServiceTable, Counts, error) {
	d := decoder{
		at:      map[endpoint]int{},
		chains:  byName[chain]{entries: map[string]*chain{}},
		pods:    byName[translation]{entries: make(map[string]*translation, bytes.Count(raw, []byte("\n:KUBE-SEP-")))},
		marks:   map[endpoint]collect.Masquerade{},
		entries: map[string]bool{},
		broken:  map[string]bool{},
	}
	var c Counts
	err := scan(raw, func(r *rule) {
		d.rule(r)
		c.rule(r)
	})
	if err != nil {
		return collect.ServiceTable{}, Counts{}, err
	}
	return d.table(), c, nil
}

// decoder gathers what each rule says. Chains refer to chains that come later,
// so the table is put together at the end.
type decoder struct {
	fronts    []*front         // rules of the nat table, addresses and node ports
	at        map[endpoint]int // where in fronts an endpoint is
	loopback  []front          // node ports as 127.0.0.0/8 sees them
	rejected  []front          // rules of the filter table
	marks     map[endpoint]collect.Masquerade
	nodeAddrs []netip.Addr        // whose ports are node ports; the zero Addr is any
	chains    byName[chain]       // of one Service
	pods      byName[translation] // KUBE-SEP- chains
	entries   map[string]bool     // jumps from the kernel's own chains
	broken    map[string]bool     // chains that hold a rule that is not understood
	unparsed  []collect.Line
}

// endpoint is what a packet is compared with: a Frontend's address, port and
// protocol. The zero Addr is any address.
type endpoint struct {
	address  netip.Addr
	port     uint16
	protocol string
}

func endpointOf(f *collect.Frontend) endpoint { return endpoint{f.Address, f.Port, f.Protocol} }

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
		understood = d.chains.grow(r.chain).enter(r, next)
	case firewall:
		understood = d.chains.grow(r.chain).filter(r, next)
	case cluster, local:
		understood = d.chains.grow(r.chain).choose(r, next)
	case backend:
		understood = d.pods.grow(r.chain).translate(r, next)
	}
	if !understood {
		d.unparsed = append(d.unparsed, r.line)
		d.broken[r.chain] = true
	}
}

// byName is what chains of one kind say. The rules of a chain stand together, so
// that the entry asked for is mostly the last one.
type byName[T any] struct {
	entries map[string]*T
	name    string
	last    *T
}

// grow gives the chain's entry, a new one for its first rule.
func (b *byName[T]) grow(name string) *T {
	if b.last != nil && b.name == name {
		return b.last
	}
	b.name, b.last = name, b.entries[name]
	if b.last == nil {
		b.last = new(T)
		b.entries[name] = b.last
	}
	return b.last
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
	at := endpointOf(&f.Frontend)
	if i, ok := d.at[at]; ok {
		return d.fronts[i].next == f.next
	}
	d.at[at] = len(d.fronts)
	d.fronts = append(d.fronts, &f)
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
