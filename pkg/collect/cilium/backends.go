package cilium

import (
	"fmt"
	"net/netip"
)

// BackendAddresses resolves the IDs that connection tracking and the maps use
// for backends, which `bpf lb list --backends` prints without their ports. lb and
// frontends are the two dumps that Decode reads; a slot gives its address in the
// first and its ID in the second. A slot that only one of them has, or whose
// frontend changed its number in between, gives nothing. An ID with two addresses
// is an error, as is a file that is not a dump.
func BackendAddresses(lb, frontends []byte) (map[uint32]netip.AddrPort, error) {
	lbRows, err := readRows(LBFile, lb)
	if err != nil {
		return nil, err
	}
	frontendRows, err := readRows(FrontendsFile, frontends)
	if err != nil {
		return nil, err
	}
	bySlot := map[key]backend{}
	for _, r := range lbRows {
		k, ok := parseKey(r.key)
		b, backendOK := parseBackend(r.entry)
		if ok && backendOK && k.slot > 0 && k.slot == b.slot {
			bySlot[k] = b
		}
	}
	addresses := map[uint32]netip.AddrPort{}
	for _, r := range frontendRows {
		k, ok := parseKey(r.key)
		c, countersOK := parseCounters(r.entry)
		b, known := bySlot[k]
		if !ok || !countersOK || !known || b.revNAT != c.revNAT {
			continue
		}
		if before, taken := addresses[c.id]; taken && before != b.AddrPort {
			return nil, fmt.Errorf("%s: line %d: backend %d is %s, elsewhere %s: the maps changed between the dumps; take both again",
				FrontendsFile, r.line.Number, c.id, b.AddrPort, before)
		}
		addresses[c.id] = b.AddrPort
	}
	return addresses, nil
}
