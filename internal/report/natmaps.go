package report

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"service-dataplane/internal/evidence"
	"service-dataplane/pkg/collect"
	"service-dataplane/pkg/collect/calico"
)

// writeNATMaps shows what each node has of the Service in Calico's NAT maps, and
// where on the node the addresses are.
func writeNATMaps(d *document, e collect.Evidence, raw fs.FS) error {
	var all []natRow
	var perNode []int // rows of the node port
	for _, s := range e.Kernel {
		table := s.Table(calico.Encoding)
		if table == nil {
			continue
		}
		if perNode == nil {
			d.heading(3, "The Service in Calico's NAT maps")
		}
		on, err := devicesOf(raw, s.Node)
		if err != nil {
			return err
		}
		letters := LettersOf(e.Objects)
		found := natRowsOf(underTest(*table, e.Objects.Service), on)
		var rows [][]string
		for _, r := range found {
			rows = append(rows, []string{
				strings.TrimSpace(escape(string(r.Kind)) + " " + code(r.Endpoint())), r.where(on),
				cell(table.File, r.Line, "", wholeRow), mapSlots(letters, table.File, r.Frontend, wholeRow),
			})
		}
		d.paragraph("%s, %s:", escape(s.Node), link(collect.Ref{File: table.File}))
		if len(rows) == 0 {
			d.paragraph("The Service is not there.")
		}
		d.table([]string{"Frontend", "Address", "Its row", "Rows of its backends"}, rows)
		all = append(all, found...)
		perNode = append(perNode, len(nodePorts(found)))
	}
	if perNode != nil {
		explainNATMaps(d, e.Objects.Service, all, perNode)
	}
	return nil
}

// natRow is a frontend of the NAT maps and the device that has its address; ""
// where none has.
type natRow struct {
	collect.Frontend
	device string
}

func natRowsOf(frontends []collect.Frontend, on map[netip.Addr]string) []natRow {
	var rows []natRow
	for _, f := range frontends {
		rows = append(rows, natRow{f, on[f.Address]})
	}
	return rows
}

// where says whose the address is.
func (r natRow) where(on map[netip.Addr]string) string {
	switch {
	case !r.Address.IsValid():
		return "none, written `255.255.255.255`"
	case on == nil:
		return "not known where"
	case r.device == "":
		return "on no device"
	}
	return "on " + code(r.device)
}

func nodePorts(rows []natRow) []natRow {
	return slices.DeleteFunc(slices.Clone(rows), func(r natRow) bool { return r.Kind != collect.NodePort })
}

func wholeRow(line collect.Line) string { return line.Text }

// explainNATMaps says how to read the rows there are. perNode counts those of the
// node port.
func explainNATMaps(d *document, service collect.Service, all []natRow, perNode []int) {
	items := []string{"**A frontend's row** has the number of the Service's port on that node (`id`), with which the rows of its backends begin; how many they are (`count`); and how many of them run on that node (`local`), which stand first."}
	nodePort := code(strconv.Itoa(int(service.NodePort)))
	var devices []string
	wildcard := false
	for _, r := range nodePorts(all) {
		wildcard = wildcard || !r.Address.IsValid()
		if r.device != "" {
			devices = append(devices, r.device)
		}
	}
	least, most := slices.Min(perNode), slices.Max(perNode)
	switch {
	case service.NodePort == 0:
	case most == 0:
		items = append(items, fmt.Sprintf("**The node port** %s is not in the maps.", nodePort))
	case least != most:
		items = append(items, fmt.Sprintf("**The node port** %s does not have as many rows on every node: %d to %d.", nodePort, least, most))
	default:
		at := ""
		if devices = distinct(devices); len(devices) > 0 {
			at = ", at the addresses of " + codes(devices)
		}
		if at != "" && wildcard {
			at += " and without an address"
		}
		items = append(items, fmt.Sprintf("**The node port** %s has %s a node%s. Packets from outside meet that of the address they carry.", nodePort, plural(most, "row"), at))
	}
	if wildcard {
		items = append(items, fmt.Sprintf("**255.255.255.255** is how the maps write no address. A connection of the node, or of a pod on it, to port %s of another node finds no row with that node's address: this one serves it, and it goes to a backend and not by way of the node that was dialled. It serves as well what another node has passed on through the tunnel.", nodePort))
	}
	d.list(items)
}

// devicesOf are the names of a node's devices by their addresses, from the output
// of "ip -j addr show"; nil where it is not there or not understood.
func devicesOf(raw fs.FS, node string) (map[netip.Addr]string, error) {
	data, err := optional(raw, path.Join(node, evidence.AddressesFile))
	if err != nil {
		return nil, err
	}
	var interfaces []struct {
		Name      string `json:"ifname"`
		Addresses []struct {
			Local netip.Addr `json:"local"`
		} `json:"addr_info"`
	}
	if json.Unmarshal(data, &interfaces) != nil {
		return nil, nil // the decoder has said so
	}
	on := map[netip.Addr]string{}
	for _, i := range interfaces {
		for _, a := range i.Addresses {
			if a.Local.IsValid() {
				on[a.Local] = i.Name
			}
		}
	}
	return on, nil
}
