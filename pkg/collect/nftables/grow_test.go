package nftables

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"service-dataplane/pkg/collect/internal/benchtest"
)

// grown is the listing of a recorded node with more Services: what kube-proxy 1.35
// makes for them, as nft 1.0.6 prints it. All of it is one line.
func grown(t testing.TB, services []benchtest.Service) (benchtest.Files, benchtest.Size) {
	t.Helper()
	raw := read(t, "recorded/worker.json")
	recorded, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	var listing struct{ Nftables []json.RawMessage }
	if err := json.Unmarshal(raw, &listing); err != nil {
		t.Fatal(err)
	}
	p := printed{elements: map[string][]string{}}
	for _, s := range services {
		p.add(s)
	}
	var out []string
	for i, element := range listing.Nftables {
		if i > 0 && strings.HasPrefix(kindOf(element), "ip kube-proxy ") {
			// What is of a kind stands together: sets, chains, rules.
			switch before := kindOf(listing.Nftables[i-1]); {
			case kindOf(element) == "ip kube-proxy chain" && before == "ip kube-proxy map":
				out = append(out, p.sets...)
			case kindOf(element) == "ip kube-proxy rule" && before == "ip kube-proxy chain":
				out = append(out, p.chains...)
			}
		}
		if kindOf(element) == "ip6 kube-proxy table" {
			out = append(out, p.rules...)
		}
		out = append(out, p.withElements(element))
	}
	text := `{"nftables": [` + strings.Join(out, ", ") + "]}\n"
	return benchtest.Files{"nft-ruleset.json": []byte(text)}, benchtest.SizeOf(recorded).With(services)
}

// kindOf is "ip kube-proxy chain" of an element in this table.
func kindOf(element json.RawMessage) string {
	var of map[string]struct{ Family, Table, Name string }
	_ = json.Unmarshal(element, &of) // of metainfo there is nothing to know
	for kind, head := range of {
		if kind == "table" {
			head.Table = head.Name
		}
		return head.Family + " " + head.Table + " " + kind
	}
	return ""
}

// printed is what is added to the table of a listing.
type printed struct {
	elements            map[string][]string // by set or map
	sets, chains, rules []string
	handle              int
}

// withElements is a set or map with what is added to it.
func (p *printed) withElements(raw json.RawMessage) string {
	var of struct{ Set, Map struct{ Family, Name string } }
	_ = json.Unmarshal(raw, &of)
	text, more := string(raw), p.elements[of.Set.Family+of.Map.Family+" "+of.Set.Name+of.Map.Name]
	if more == nil {
		return text
	}
	list := strings.Join(more, ", ")
	if inner, ok := strings.CutSuffix(text, "]}}"); ok && strings.Contains(text, `"elem"`) {
		return inner + ", " + list + "]}}"
	}
	return strings.TrimSuffix(text, "}}") + `, "elem": [` + list + "]}}"
}

func (p *printed) element(set, format string, values ...any) {
	p.elements["ip "+set] = append(p.elements["ip "+set], fmt.Sprintf(format, values...))
}

func (p *printed) chain(name string) {
	p.handle++
	p.chains = append(p.chains, fmt.Sprintf(`{"chain": {"family": "ip", "table": "kube-proxy", "name": "%s", "handle": %d}}`, name, 1000+p.handle))
}

func (p *printed) rule(chain string, expressions ...string) {
	p.handle++
	p.rules = append(p.rules, fmt.Sprintf(`{"rule": {"family": "ip", "table": "kube-proxy", "chain": "%s", "handle": %d, "expr": [%s]}}`,
		chain, 1000+p.handle, strings.Join(expressions, ", ")))
}

const (
	goTo    = `{"goto": {"target": "%s"}}`
	mark    = `{"jump": {"target": "mark-for-masquerade"}}`
	network = `{"prefix": {"addr": "10.244.0.0", "len": 16}}`
)

func match(op, field, right string) string {
	return fmt.Sprintf(`{"match": {"op": "%s", "left": {"payload": {"protocol": "ip", "field": "%s"}}, "right": %s}}`, op, field, right)
}

func (p *printed) add(s benchtest.Service) {
	name := s.Name + "/tcp/http"
	name = benchtest.Hash(8, s.Name+":http", "tcp") + "-" + name
	service, external := "service-"+name, "external-"+name
	p.element("cluster-ips", `"%s"`, s.Address.Addr())
	key := fmt.Sprintf(`{"concat": ["%s", "tcp", %d]}`, s.Address.Addr(), s.Address.Port())
	if len(s.Endpoints) == 0 {
		p.element("no-endpoint-services", `[{"elem": {"val": %s, "comment": "%s:http"}}, `+goTo+`]`, key, s.Name, "reject-chain")
		return
	}
	p.element("service-ips", "[%s, "+goTo+"]", key, service)
	p.rule(service, match("==", "daddr", `"`+s.Address.Addr().String()+`"`), match("!=", "saddr", network), mark)
	var slots []string
	for i, e := range s.Endpoints {
		of := fmt.Sprintf("%s__%s/%d", name, e.Addr(), e.Port())
		endpoint, address := "endpoint-"+of, `"`+e.Addr().String()+`"`
		p.chain(endpoint)
		p.rule(endpoint, match("==", "saddr", address), mark)
		if s.Sticky {
			set := "affinity-" + of
			p.sets = append(p.sets, fmt.Sprintf(`{"set": {"family": "ip", "name": "%s", "table": "kube-proxy", "type": "ipv4_addr", "handle": %d, "size": 65535, "flags": ["timeout"], "timeout": %d}}`,
				set, 1000+p.handle, benchtest.AffinitySeconds))
			p.rule(endpoint, fmt.Sprintf(`{"set": {"op": "update", "elem": {"payload": {"protocol": "ip", "field": "saddr"}}, "set": "@%s"}}`, set))
			p.rule(service, match("==", "saddr", `"@`+set+`"`), fmt.Sprintf(goTo, endpoint))
		}
		p.rule(endpoint, `{"match": {"op": "==", "left": {"meta": {"key": "l4proto"}}, "right": "tcp"}}`,
			fmt.Sprintf(`{"dnat": {"addr": %s, "port": %d}}`, address, e.Port()))
		slots = append(slots, fmt.Sprintf("[%d, "+goTo+"]", i, endpoint))
	}
	p.chain(service)
	p.rule(service, fmt.Sprintf(`{"vmap": {"key": {"numgen": {"mode": "random", "mod": %d, "offset": 0}}, "data": {"set": [%s]}}}`,
		len(slots), strings.Join(slots, ", ")))
	if s.NodePort != 0 {
		p.element("service-nodeports", `[{"concat": ["tcp", %d]}, `+goTo+"]", s.NodePort, external)
		p.chain(external)
		p.rule(external, mark)
		p.rule(external, fmt.Sprintf(goTo, service))
	}
}
