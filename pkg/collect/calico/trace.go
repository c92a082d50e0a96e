package calico

import (
	"fmt"
	"strings"

	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/internal/walk"
)

// Trace looks a new connection up in the NAT maps of a node as the programs of
// Calico v3.31.7 do (felix/bpf-gpl/nat_lookup.h, calico_nat_lookup): at connect()
// for pods and processes where such programs are attached to the cgroup, else in
// the first packet at the pod's interface, the node's device or on its way out of
// the node. A row on the way that is not understood stops the walk; so does one
// whose address cannot be read, as it may be the one that is looked for.
//
// A process of the node without such a program is translated on its way out where
// bpfHostNetworkedNATWithoutCTLB is not turned off, which no node tells.
//
// cgroup is the output of bpftool as DecodeAttached reads it. The maps do not say
// what becomes of the source.
func Trace(raw Raw, cgroup []byte, p collect.Packet) (collect.Trace, error) {
	read, dump, file := readJSON, raw.NAT, NATFile
	if len(raw.NAT) == 0 && len(raw.NATText) > 0 {
		read, dump, file = readText, raw.NATText, NATTextFile
	}
	rows, strange, err := read(dump)
	if err != nil {
		return collect.Trace{}, err
	}
	w := walker{rows: rows, strange: strange, file: file}
	if w.connect, err = connectProgram(cgroup, p); err != nil {
		return collect.Trace{}, err
	}
	t, err := walk.Decide(func(m *walk.Machine) ([]walk.State, error) { return w.lookup(m, walk.Start(p)) })
	t.Encoding, t.Packet, t.Selection = Encoding, p, collect.SelectRandom
	for i := range t.Backends {
		t.Backends[i].Marked = collect.Answer{Decision: collect.No, Reason: "the programs mark no packet for masquerade"}
		t.Backends[i].Masqueraded = w.source()
	}
	t.Finish()
	return t, err
}

// connectProgram is the program that translates the connection at connect(); nil
// where none does. UDP has programs for sendmsg beside it where it is translated.
func connectProgram(cgroup []byte, p collect.Packet) (*Program, error) {
	if p.Origin == collect.FromOutside || p.Protocol == "SCTP" {
		return nil, nil
	}
	if len(cgroup) == 0 {
		return nil, fmt.Errorf("%s has nothing: whether a program translates at connect() is not known", CgroupFile)
	}
	programs, err := DecodeAttached(cgroup)
	if err != nil {
		return nil, err
	}
	wanted := "connect4"
	if p.Protocol == "UDP" {
		wanted = "sendmsg4"
	}
	if p.Destination.Addr().Is6() {
		wanted = strings.TrimSuffix(wanted, "4") + "6"
	}
	inet := map[string]string{
		"connect4": "cgroup_inet4_connect", "connect6": "cgroup_inet6_connect",
		"sendmsg4": "cgroup_udp4_sendmsg", "sendmsg6": "cgroup_udp6_sendmsg",
	}
	for i, program := range programs {
		if program.OfCalico() && (program.AttachType == wanted || program.AttachType == inet[wanted]) {
			return &programs[i], nil
		}
	}
	return nil, nil
}

// source says what becomes of the source address.
func (w walker) source() collect.Answer {
	const backend = "what the node does with packets from the client to the backend is not in the maps"
	if w.connect == nil {
		return collect.Answer{Decision: collect.Depends, Reason: backend}
	}
	at := w.program()
	return collect.Answer{Decision: collect.Depends, Reason: "the socket is connected to the backend itself; " + backend, By: &at}
}

// program is the program at connect(), to be quoted.
func (w walker) program() collect.Hop {
	return collect.Hop{Where: "cgroup", File: CgroupFile, Line: w.connect.Line}
}
