package benchtest

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/netip"
	"strings"

	"service-dataplane/pkg/collect"
)

// AffinitySeconds is the timeout of a Sticky Service, the API's default.
const AffinitySeconds = 10800

// Service is one TCP port named "http" of a Service.
type Service struct {
	// Name is "namespace/name".
	Name    string
	Address netip.AddrPort
	// NodePort is 0 where there is none; a Service with one has endpoints.
	NodePort  uint16
	Sticky    bool
	Endpoints []netip.AddrPort
}

// Services makes n of them, always the same: with one endpoint up to most, no two
// alike, every hundredth with none, every twentieth with a node port (of which a
// cluster has 2768), every fiftieth with session affinity.
func Services(n, most int) []Service {
	services := make([]Service, n)
	pods := 0
	for i := range services {
		s := &services[i]
		s.Name = fmt.Sprintf("team-%02d/service-%05d", i%50, i)
		s.Address = netip.AddrPortFrom(address(0x0A610000+i), 80) // 10.97.0.0
		if i%100 == 1 {
			continue
		}
		if i%20 == 0 {
			s.NodePort = uint16(30100 + i/20)
		}
		s.Sticky = i%50 == 2
		for range 1 + i%most {
			s.Endpoints = append(s.Endpoints, netip.AddrPortFrom(address(0x0A800000+pods), 8080)) // 10.128.0.0
			pods++
		}
	}
	return services
}

func address(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// Hash is what kube-proxy puts into the names of chains: n characters that are the
// same for the same parts.
func Hash(n int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "")))
	return base32.StdEncoding.EncodeToString(sum[:])[:n]
}

// Size is what a table holds.
type Size struct{ Frontends, Backends, Unparsed int }

// SizeOf is the size of a table.
func SizeOf(t collect.ServiceTable) Size {
	s := Size{Frontends: len(t.Frontends), Unparsed: len(t.Unparsed)}
	for _, f := range t.Frontends {
		s.Backends += len(f.Backends)
	}
	return s
}

// With is the size of the table once these Services are in it, at one address of
// the node.
func (s Size) With(services []Service) Size {
	for _, service := range services {
		ways := 1
		if service.NodePort != 0 {
			ways = 2
		}
		s.Frontends += ways
		s.Backends += ways * len(service.Endpoints)
	}
	return s
}
