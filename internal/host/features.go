package host

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// feature is a part of the kernel that a build may leave out or put in a
// module.
type feature struct {
	// name is that of the module.
	name string
	// option of the kernel's configuration, without CONFIG_.
	option string
	// trace is a file that is there where the feature is in the kernel; with
	// line, a file that then has this line. A module has one more trace,
	// /sys/module/NAME.
	trace, line string
	// builtin: no module can have it, so that lists of modules say nothing.
	builtin bool
	// any are sets of features of which one is enough. The rest is empty then.
	any [][]string
}

const (
	filesystems = "/proc/filesystems"
	// What iptables rules can use, by either back end. Only root reads it.
	matches = "/proc/net/ip_tables_matches"
	targets = "/proc/net/ip_tables_targets"
)

// features in the order of Known. Options are those of Linux 5.10 to 6.18.
var features = []feature{
	{"bpf", "BPF_SYSCALL", "/proc/sys/kernel/unprivileged_bpf_disabled", "", true, nil},
	{"cgroup_bpf", "CGROUP_BPF", "", "", true, nil},
	{"cls_bpf", "NET_CLS_BPF", "", "", false, nil},
	{"dummy", "DUMMY", "", "", false, nil},
	{"ip_set", "IP_SET", "", "", false, nil},
	{"ip_vs", "IP_VS", "/proc/net/ip_vs", "", false, nil},
	{"ip_vs_lc", "IP_VS_LC", "", "", false, nil},
	{"ip_vs_rr", "IP_VS_RR", "", "", false, nil},
	{"ip_vs_sh", "IP_VS_SH", "", "", false, nil},
	{"nf_conntrack", "NF_CONNTRACK", "/proc/sys/net/netfilter/nf_conntrack_max", "", false, nil},
	{"nf_tables", "NF_TABLES", "", "", false, nil},
	{"nft_ct", "NFT_CT", "", "", false, nil},
	{"nft_fib_ipv4", "NFT_FIB_IPV4", "", "", false, nil},
	{"nft_masq", "NFT_MASQ", "", "", false, nil},
	{"nft_nat", "NFT_NAT", "", "", false, nil},
	{"nft_numgen", "NFT_NUMGEN", "", "", false, nil},
	{"overlay", "OVERLAY_FS", filesystems, "nodev\toverlay", false, nil},
	{"sch_ingress", "NET_SCH_INGRESS", "", "", false, nil},
	// BPF programs on network devices, by Linux 6.6's own hook or a classifier.
	{"tc_bpf", "", "", "", false, [][]string{{"tcx"}, {"cls_bpf", "sch_ingress"}}},
	{"tcx", "NET_XGRESS", "", "", true, nil},
	{"veth", "VETH", "", "", false, nil},
	{"vxlan", "VXLAN", "", "", false, nil},
	{"xt_MASQUERADE", "NETFILTER_XT_TARGET_MASQUERADE", targets, "MASQUERADE", false, nil},
	{"xt_addrtype", "NETFILTER_XT_MATCH_ADDRTYPE", matches, "addrtype", false, nil},
	{"xt_comment", "NETFILTER_XT_MATCH_COMMENT", matches, "comment", false, nil},
	{"xt_conntrack", "NETFILTER_XT_MATCH_CONNTRACK", matches, "conntrack", false, nil},
	{"xt_mark", "NETFILTER_XT_MARK", matches, "mark", false, nil},
	{"xt_nat", "NETFILTER_XT_NAT", targets, "DNAT", false, nil},
	{"xt_set", "NETFILTER_XT_SET", matches, "set", false, nil},
	{"xt_statistic", "NETFILTER_XT_MATCH_STATISTIC", matches, "statistic", false, nil},
}

// Known returns the names Features takes, sorted.
func Known() []string {
	names := make([]string, len(features))
	for i, f := range features {
		names[i] = f.name
	}
	return names
}

// Features looks for kernel features, by the names of Known, and returns one
// finding each. A module that is there but not loaded is OK: the kernel loads
// these on first use. Unknown means that this machine does not say; the run
// will. The error names what is not Known.
func Features(ctx context.Context, required []string, sys System) ([]Finding, error) {
	k := readKernel(sys)
	var findings []Finding
	var strange []string
	for _, name := range required {
		i := slices.IndexFunc(features, func(f feature) bool { return f.name == name })
		if i < 0 {
			strange = append(strange, name)
			continue
		}
		findings = append(findings, k.find(ctx, features[i]))
	}
	if len(strange) > 0 {
		return nil, fmt.Errorf("no kernel feature: %s; there are %s", strings.Join(strange, ", "), strings.Join(Known(), ", "))
	}
	return findings, nil
}

// kernel is what the machine says about the one that runs.
type kernel struct {
	sys     System
	release string
	// config by option, nil where it is nowhere to be read. Options that are
	// not set are absent.
	config map[string]string
	// builtin and modules by name, nil where the lists are not there.
	builtin, modules map[string]bool
}

func readKernel(sys System) kernel {
	release, _ := Release(sys)
	lists := "/lib/modules/" + release
	return kernel{
		sys:     sys,
		release: release,
		config:  sys.kernelConfig("/proc/config.gz", "/boot/config-"+release, lists+"/config"),
		builtin: sys.moduleList(lists + "/modules.builtin"),
		modules: sys.moduleList(lists + "/modules.dep"),
	}
}

// find goes from what runs to what is only written somewhere.
func (k kernel) find(ctx context.Context, f feature) Finding {
	if f.any != nil {
		return k.findAny(ctx, f)
	}
	option := "CONFIG_" + f.option
	set := k.config[f.option]
	finding := func(state State, text, cure string) Finding { return Finding{f.name, state, text, cure} }
	switch {
	case k.sys.exists("/sys/module/" + f.name), k.traced(f):
		return finding(OK, "in the running kernel", "")
	case set == "y", k.builtin[f.name]:
		return finding(OK, "built into kernel "+k.release, "")
	case k.modules[f.name]:
		if n, err := k.sys.number("/proc/sys/kernel/modules_disabled"); err == nil && n != 0 {
			return finding(Missing, "a module that is not loaded, and kernel.modules_disabled forbids to",
				fmt.Sprintf("echo %s > /etc/modules-load.d/%s.conf and boot again", f.name, f.name))
		}
		return finding(OK, "a module that is not loaded: the kernel does so on first use", "modprobe "+f.name)
	case f.builtin && k.config != nil && set == "":
		return finding(Missing, fmt.Sprintf("kernel %s is built without %s", k.release, option),
			fmt.Sprintf("a kernel with %s=y, in a virtual machine if need be", option))
	case f.builtin:
		return finding(Unknown, "this host does not say: the kernel's configuration is nowhere to be read",
			fmt.Sprintf("make /boot/config-%s visible here, and look for %s=y", k.release, option))
	case k.modules != nil && (set == "m" || k.config == nil && k.builtin != nil):
		cure := fmt.Sprintf("a kernel with %s=m, and its modules", option)
		if k.sys.osRelease("ID") == "ubuntu" {
			cure = fmt.Sprintf("apt-get install linux-modules-extra-%s, or %s", k.release, cure)
		}
		return finding(Missing, "no such module in /lib/modules/"+k.release, cure)
	case k.config != nil && set == "":
		return finding(Missing, fmt.Sprintf("kernel %s is built without %s", k.release, option),
			fmt.Sprintf("--kernel guest; --kernel host needs a kernel with %s=y or =m (modprobe %s; on Ubuntu the module is in linux-modules-extra-$(uname -r))", option, f.name))
	}
	// Asked last: it may make the kernel load the module.
	if f.name == "nf_tables" {
		if _, err := k.sys.Run(ctx, "nft", "list", "tables"); err == nil {
			return finding(OK, "nft list tables works", "")
		}
	}
	return finding(Unknown, "this host does not say: neither the kernel's configuration nor /lib/modules/"+k.release+" tells",
		fmt.Sprintf("modprobe %s, or make /lib/modules visible here", f.name))
}

// findAny is the best of the findings about sets of features of which one is
// enough: a set is as good as the worst in it.
func (k kernel) findAny(ctx context.Context, f feature) Finding {
	badness := []State{OK, Warn, Unknown, Missing}
	best := Finding{f.name, Missing, "", ""}
	var lacks []string
	for _, set := range f.any {
		worst := Finding{State: OK}
		for _, name := range set {
			i := slices.IndexFunc(features, func(other feature) bool { return other.name == name })
			found := k.find(ctx, features[i])
			if found.State != OK {
				lacks = append(lacks, name+": "+found.Text)
			}
			if worst.Subject == "" || slices.Index(badness, found.State) > slices.Index(badness, worst.State) {
				worst = found
			}
		}
		if worst.State == OK {
			return Finding{f.name, OK, strings.Join(set, ", ") + ": " + worst.Text, worst.Cure}
		}
		// Of two that are as good the later one is the older feature.
		if slices.Index(badness, worst.State) <= slices.Index(badness, best.State) {
			best.State, best.Cure = worst.State, worst.Cure
		}
	}
	best.Text = strings.Join(lacks, "; ")
	return best
}

func (k kernel) traced(f feature) bool {
	if f.line == "" {
		return f.trace != "" && k.sys.exists(f.trace)
	}
	text, _ := k.sys.read(f.trace)
	return slices.Contains(strings.Split(text, "\n"), f.line)
}

// kernelConfig reads the first of the files that can be read.
func (s System) kernelConfig(paths ...string) map[string]string {
	for _, p := range paths {
		raw, err := fs.ReadFile(s.Files, strings.TrimPrefix(p, "/"))
		if unpacked, gzErr := gzip.NewReader(bytes.NewReader(raw)); gzErr == nil {
			raw, err = io.ReadAll(unpacked)
		}
		if err != nil {
			continue
		}
		config := map[string]string{}
		for line := range strings.Lines(string(raw)) {
			if option, value, ok := strings.Cut(strings.TrimPrefix(line, "CONFIG_"), "="); ok {
				config[option] = strings.TrimSpace(value)
			}
		}
		return config
	}
	return nil
}

// moduleList reads depmod's modules.dep ("kernel/…/ip_vs.ko.zst: kernel/…") or
// the build's modules.builtin, which has the paths alone. File names may have
// dashes where the module's has underscores.
func (s System) moduleList(file string) map[string]bool {
	text, err := s.read(file)
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	for line := range strings.Lines(text) {
		module, _, _ := strings.Cut(line, ":")
		name, _, _ := strings.Cut(path.Base(module), ".ko")
		names[strings.ReplaceAll(name, "-", "_")] = true
	}
	return names
}
