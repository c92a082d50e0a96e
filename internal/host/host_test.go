package host

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fixture is a machine that a test can change.
type fixture struct {
	System
	t     *testing.T
	files fstest.MapFS
	free  uint64
	// failing programs by their command line, with the error to give.
	failing map[string]error
}

// load reads a machine of testdata; its user is root unless uid says
// otherwise.
func load(t *testing.T, name string, uid int) *fixture {
	t.Helper()
	f := &fixture{t: t, files: fstest.MapFS{}, free: 40 << 30, failing: map[string]error{}}
	root := os.DirFS(filepath.Join("testdata", name))
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(root, path)
		f.files[path] = &fstest.MapFile{Data: raw}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if plain := f.files["proc/config"]; plain != nil {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		w.Write(plain.Data)
		w.Close()
		f.files["proc/config.gz"] = &fstest.MapFile{Data: packed.Bytes()}
	}
	f.System = System{Files: f.files, Run: f.run, FreeBytes: f.freeBytes, UID: uid, CPUs: 4, Arch: "amd64"}
	return f
}

func (f *fixture) run(_ context.Context, argv ...string) (string, error) {
	if err := f.failing[strings.Join(argv, " ")]; err != nil {
		return "", err
	}
	out, ok := f.files["run/"+argv[0]+"-"+argv[1]]
	if !ok {
		return "", fmt.Errorf("%s: %w", argv[0], exec.ErrNotFound)
	}
	return strings.TrimSpace(string(out.Data)), nil
}

func (f *fixture) freeBytes(string) (uint64, error) { return f.free, nil }

func (f *fixture) write(path, text string) { f.files[path] = &fstest.MapFile{Data: []byte(text)} }

func (f *fixture) edit(path, old, new string) {
	f.t.Helper()
	text := string(f.files[path].Data)
	if !strings.Contains(text, old) {
		f.t.Fatalf("%s has no %s", path, old)
	}
	f.write(path, strings.ReplaceAll(text, old, new))
}

func TestHosts(t *testing.T) {
	for _, host := range []struct {
		name string
		uid  int
	}{{"restricted", 0}, {"debian", 1000}, {"ubuntu", 0}} {
		t.Run(host.name, func(t *testing.T) {
			sys := load(t, host.name, host.uid).System
			features, err := Features(t.Context(), Known(), sys)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, f := range append(Inspect(t.Context(), sys), features...) {
				fmt.Fprintf(&got, "%-8s %s: %s\n", f.State, f.Subject, f.Text)
				if f.Cure != "" {
					fmt.Fprintf(&got, "%-8s %s\n", "", f.Cure)
				}
			}
			facts, err := json.MarshalIndent(Describe(t.Context(), sys), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, host.name, got.String()+string(facts)+"\n")
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("%s (%v), got:\n%s", file, err, got)
	}
}

// TestFault takes one thing from a machine that has everything: exactly one
// finding turns, and it says what to do.
func TestFault(t *testing.T) {
	const modules = "lib/modules/6.8.0-45-generic/"
	for _, c := range []struct {
		fault   string
		change  func(*fixture)
		subject string
		state   State
		text    string // part of it
		cure    string // part of it
	}{
		{"no docker command", func(f *fixture) { delete(f.files, "run/docker-info") },
			"engine", Missing, "no docker command", "make engine"},
		{"engine down", func(f *fixture) {
			f.failing["docker info --format {{json .}}"] = errors.New("docker info: exit status 1\nCannot connect to the Docker daemon")
		}, "engine", Missing, "does not answer: Cannot connect to the Docker daemon", "systemctl start docker"},
		{"engine down, client content", func(f *fixture) { f.write("run/docker-info", `{"ServerErrors":["Cannot connect"]}`) },
			"engine", Missing, "Cannot connect", "make engine"},
		{"not in group docker", func(f *fixture) {
			f.failing["docker info --format {{json .}}"] = errors.New("permission denied while trying to connect to the Docker daemon socket")
		}, "engine", Missing, "user 0 may not", "usermod -aG docker"},
		{"engine elsewhere", func(f *fixture) { f.edit("run/docker-info", "6.8.0-45-generic", "6.10.14-linuxkit") },
			"engine", Warn, "6.10.14-linuxkit", "DOCKER_HOST"},
		{"old engine without CAP_SYS_RESOURCE", func(f *fixture) {
			f.edit("proc/self/status", "CapBnd:\t000001ffffffffff", "CapBnd:\t000001fffeffffff")
			f.edit("run/docker-info", "27.3.1", "20.10.24")
		}, "capabilities", Missing, "lacks CAP_SYS_RESOURCE;", "hack/engine.sh"},
		{"no /proc/self/status", func(f *fixture) { delete(f.files, "proc/self/status") },
			"capabilities", Unknown, "CapBnd", "mount"},
		{"no cgroups", func(f *fixture) { f.write("proc/self/mounts", "") },
			"cgroup", Missing, "nothing", "mount -t cgroup2"},
		{"few watches", func(f *fixture) { f.write("proc/sys/fs/inotify/max_user_watches", "65536\n") },
			"inotify", Warn, "max_user_watches 65536, max_user_instances 512", "sysctl -w fs.inotify.max_user_watches=524288"},
		{"few of both", func(f *fixture) {
			f.write("proc/sys/fs/inotify/max_user_watches", "65536\n")
			f.write("proc/sys/fs/inotify/max_user_instances", "128\n")
		}, "inotify", Warn, "too many open files", "fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512"},
		{"no inotify", func(f *fixture) { delete(f.files, "proc/sys/fs/inotify/max_user_watches") },
			"inotify", Unknown, "max_user_watches", "sysctl fs.inotify"},
		{"small disk", func(f *fixture) { f.free = 5 << 30 },
			"disk", Missing, "5.0 GiB free at /, want 6.0 GiB", "docker system df"},
		{"disk does not answer", func(f *fixture) {
			f.FreeBytes = func(string) (uint64, error) { return 0, errors.New("statfs: permission denied") }
		}, "disk", Unknown, "statfs", "df -h /"},
		{"little memory", func(f *fixture) { f.edit("proc/meminfo", "14021880", "2021880") },
			"memory", Warn, "1.9 GiB available, want 4.0 GiB", "kind get clusters"},
		{"no go", func(f *fixture) { delete(f.files, "run/go-env") },
			"go", Missing, "executable file not found", "go.dev/dl"},
		{"old go", func(f *fixture) { f.write("run/go-env", "go1.19.8\n") },
			"go", Missing, "go1.19.8 is older than go1.26", "go.dev/dl"},
		{"no mmdebstrap", func(f *fixture) { delete(f.files, "run/mmdebstrap---version") },
			"source images", Warn, "without mmdebstrap", "apt-get install mmdebstrap"},
		{"not root", func(f *fixture) { f.UID = 1000 },
			"source images", Warn, "without root", "run as root"},

		{"modules-extra not installed", func(f *fixture) { f.edit(modules+"modules.dep", "/ip_vs.ko", "/ip_vs-not.ko") },
			"ip_vs", Missing, "no such module", "apt-get install linux-modules-extra-6.8.0-45-generic, or a kernel with CONFIG_IP_VS=m"},
		{"built without", func(f *fixture) {
			f.edit(modules+"modules.dep", "/ip_vs.ko", "/ip_vs-not.ko")
			f.edit("boot/config-6.8.0-45-generic", "CONFIG_IP_VS=m", "# CONFIG_IP_VS is not set")
		}, "ip_vs", Missing, "built without CONFIG_IP_VS", "a kernel with CONFIG_IP_VS=y or =m"},
		{"another distribution", func(f *fixture) {
			f.edit("etc/os-release", "ID=ubuntu", "ID=fedora")
			f.edit(modules+"modules.dep", "/ip_vs.ko", "/ip_vs-not.ko")
		}, "ip_vs", Missing, "no such module", "a kernel with CONFIG_IP_VS=m, and its modules"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			f := load(t, "ubuntu", 0)
			if open := notOK(t, f.System); len(open) > 0 {
				t.Fatalf("before the change: %v", open)
			}
			c.change(f)
			open := notOK(t, f.System)
			if len(open) != 1 {
				t.Fatalf("findings %v, want one", open)
			}
			got := open[0]
			if got.Subject != c.subject || got.State != c.state ||
				!strings.Contains(got.Text, c.text) || !strings.Contains(got.Cure, c.cure) {
				t.Errorf("got %q, want %s %s: …%s… cure …%s…", got, c.subject, c.state, c.text, c.cure)
			}
		})
	}
}

// notOK returns what a machine lacks.
func notOK(t *testing.T, sys System) []Finding {
	t.Helper()
	features, err := Features(t.Context(), Known(), sys)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(append(Inspect(t.Context(), sys), features...), func(f Finding) bool { return f.State == OK })
}

// TestFeatureTraces has one feature seen in each way.
func TestFeatureTraces(t *testing.T) {
	const modules = "lib/modules/6.8.0-45-generic/"
	// bare takes from the machine all that speaks of its kernel.
	bare := func(f *fixture) {
		for _, path := range []string{"boot/config-6.8.0-45-generic", modules + "modules.dep", modules + "modules.builtin", "sys/module/nf_tables/initstate"} {
			delete(f.files, path)
		}
	}
	for _, c := range []struct {
		name, feature string
		change        func(*fixture)
		state         State
		text, cure    string // parts
	}{
		{"IPVS in use", "ip_vs", func(f *fixture) { bare(f); f.write("proc/net/ip_vs", "IP Virtual Server version 1.2.1") }, OK, "in the running kernel", ""},
		{"a match that rules can use", "xt_statistic", func(f *fixture) { bare(f); f.write("proc/net/ip_tables_matches", "tcp\nstatistic\n") }, OK, "in the running kernel", ""},
		{"a line is no part of a line", "xt_mark", func(f *fixture) { bare(f); f.write("proc/net/ip_tables_matches", "connmark\n") }, Unknown, "does not say", "modprobe xt_mark"},
		{"built in by its list", "ip_vs", func(f *fixture) {
			bare(f)
			f.write(modules+"modules.builtin", "kernel/net/netfilter/ipvs/ip-vs.ko\n")
		}, OK, "built into kernel 6.8.0-45-generic", ""},
		{"built in by the configuration", "ip_vs", func(f *fixture) { bare(f); f.write(modules+"config", "CONFIG_IP_VS=y\n") }, OK, "built into", ""},
		{"on first use", "ip_vs", func(*fixture) {}, OK, "on first use", "modprobe ip_vs"},
		{"loading forbidden", "ip_vs", func(f *fixture) { f.write("proc/sys/kernel/modules_disabled", "1\n") }, Missing, "modules_disabled", "/etc/modules-load.d/ip_vs.conf"},
		{"no configuration, not in the lists", "ip_vs", func(f *fixture) {
			delete(f.files, "boot/config-6.8.0-45-generic")
			f.edit(modules+"modules.dep", "/ip_vs.ko", "/ip_vs-not.ko")
		}, Missing, "no such module", "linux-modules-extra"},
		{"modules not visible here", "ip_vs", func(f *fixture) { bare(f); f.write(modules+"config", "CONFIG_IP_VS=m\n") }, Unknown, "does not say", "/lib/modules visible"},
		{"modules.dep alone", "veth", func(f *fixture) {
			bare(f)
			delete(f.files, "sys/module/veth/initstate")
			f.write(modules+"modules.dep", "")
		}, Unknown, "does not say", "modprobe veth"},
		{"nft works", "nf_tables", func(f *fixture) { bare(f); f.write("run/nft-list", "table ip nat\n") }, OK, "nft list tables works", ""},
		{"nft does not", "nf_tables", func(f *fixture) {
			bare(f)
			f.failing["nft list tables"] = errors.New("netlink: Error: cache initialization failed: Operation not permitted")
		}, Unknown, "does not say", "modprobe nf_tables"},
		{"packed configuration cut off", "ip_vs", func(f *fixture) { bare(f); f.write("proc/config.gz", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x01") }, Unknown, "does not say", "modprobe ip_vs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := load(t, "ubuntu", 0)
			c.change(f)
			got, err := Features(t.Context(), []string{c.feature}, f.System)
			if err != nil || len(got) != 1 {
				t.Fatalf("%v, %v", got, err)
			}
			if got[0].State != c.state || !strings.Contains(got[0].Text, c.text) || !strings.Contains(got[0].Cure, c.cure) || (c.cure == "") != (got[0].Cure == "") {
				t.Errorf("got %q, want %s …%s… cure …%s…", got[0], c.state, c.text, c.cure)
			}
		})
	}
}

// TestBPFFeatures: each kernel has a configuration of its own and modules, or
// says nothing at all. Of what tc_bpf names one is enough.
func TestBPFFeatures(t *testing.T) {
	const (
		config  = "boot/config-6.8.0-45-generic"
		modules = "lib/modules/6.8.0-45-generic/"
		without = "# CONFIG_NET_XGRESS is not set\n# CONFIG_NET_CLS_BPF is not set\nCONFIG_NET_SCH_INGRESS=y\n"
		neither = "tcx: kernel 6.8.0-45-generic is built without CONFIG_NET_XGRESS; cls_bpf: kernel 6.8.0-45-generic is built without CONFIG_NET_CLS_BPF"
		silent  = "this host does not say: neither the kernel's configuration nor /lib/modules/6.8.0-45-generic tells"
	)
	for _, c := range []struct {
		name, feature string
		config        string // "" is none to be read
		modules       string // modules.dep, "" is none
		state         State
		text, cure    string // the text in whole, a part of the cure
	}{
		{"programs on cgroups", "cgroup_bpf", "CONFIG_CGROUP_BPF=y\n", "", OK, "built into kernel 6.8.0-45-generic", ""},
		{"no programs on cgroups", "cgroup_bpf", "# CONFIG_CGROUP_BPF is not set\n", "", Missing, "kernel 6.8.0-45-generic is built without CONFIG_CGROUP_BPF", "CONFIG_CGROUP_BPF=y"},
		{"a kernel older than tcx", "tcx", "CONFIG_NET_CLS_BPF=y\n", "", Missing, "kernel 6.8.0-45-generic is built without CONFIG_NET_XGRESS", "CONFIG_NET_XGRESS=y"},

		{"tcx built in", "tc_bpf", "CONFIG_NET_XGRESS=y\n# CONFIG_NET_CLS_BPF is not set\n", "", OK, "tcx: built into kernel 6.8.0-45-generic", ""},
		{"both built in", "tc_bpf", "CONFIG_NET_CLS_BPF=y\nCONFIG_NET_XGRESS=y\n", "", OK, "tcx: built into kernel 6.8.0-45-generic", ""},
		{"only cls_bpf, built in", "tc_bpf", "CONFIG_NET_CLS_BPF=y\nCONFIG_NET_SCH_INGRESS=y\n", "", OK, "cls_bpf, sch_ingress: built into kernel 6.8.0-45-generic", ""},
		{"only cls_bpf, a module", "tc_bpf", "CONFIG_NET_CLS_BPF=m\nCONFIG_NET_SCH_INGRESS=y\n", "kernel/net/sched/cls_bpf.ko.zst:\n", OK, "cls_bpf, sch_ingress: a module that is not loaded: the kernel does so on first use", "modprobe cls_bpf"},
		{"neither", "tc_bpf", without, "", Missing, neither, "CONFIG_NET_CLS_BPF=y"},
		{"only cls_bpf, and its module is not there", "tc_bpf", "CONFIG_NET_CLS_BPF=m\nCONFIG_NET_SCH_INGRESS=m\n", "kernel/net/sched/sch_ingress.ko.zst:\n", Missing,
			"tcx: kernel 6.8.0-45-generic is built without CONFIG_NET_XGRESS; cls_bpf: no such module in /lib/modules/6.8.0-45-generic", "apt-get install linux-modules-extra-6.8.0-45-generic"},
		// What may be there outweighs what is not.
		{"cls_bpf alone is not enough", "tc_bpf", "CONFIG_NET_CLS_BPF=y\n", "", Missing,
			"tcx: kernel 6.8.0-45-generic is built without CONFIG_NET_XGRESS; sch_ingress: kernel 6.8.0-45-generic is built without CONFIG_NET_SCH_INGRESS", "CONFIG_NET_SCH_INGRESS=y"},
		{"only cls_bpf, and modules are not visible here", "tc_bpf", "CONFIG_NET_CLS_BPF=m\nCONFIG_NET_SCH_INGRESS=y\n", "", Unknown,
			"tcx: kernel 6.8.0-45-generic is built without CONFIG_NET_XGRESS; cls_bpf: " + silent, "modprobe cls_bpf"},
		{"nothing known", "tc_bpf", "", "", Unknown,
			"tcx: this host does not say: the kernel's configuration is nowhere to be read; cls_bpf: " + silent + "; sch_ingress: " + silent, "/lib/modules visible"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := load(t, "ubuntu", 0)
			for _, path := range []string{config, modules + "modules.dep", modules + "modules.builtin"} {
				delete(f.files, path)
			}
			if c.config != "" {
				f.write(config, c.config)
			}
			if c.modules != "" {
				f.write(modules+"modules.dep", c.modules)
			}
			got, err := Features(t.Context(), []string{c.feature}, f.System)
			if err != nil || len(got) != 1 {
				t.Fatalf("%v, %v", got, err)
			}
			if got[0].Subject != c.feature || got[0].State != c.state || got[0].Text != c.text ||
				!strings.Contains(got[0].Cure, c.cure) || (c.cure == "") != (got[0].Cure == "") {
				t.Errorf("got %q, want %s %q cure …%s…", got[0], c.state, c.text, c.cure)
			}
		})
	}
}

// TestNoModule: what can only be built in is in no list of modules, be it those
// of modules.builtin. Without a configuration the lists say nothing of it.
func TestNoModule(t *testing.T) {
	for _, feature := range []string{"bpf", "cgroup_bpf", "tcx", "tc_bpf"} {
		f := load(t, "ubuntu", 0)
		f.edit("lib/modules/6.8.0-45-generic/modules.dep", "/cls_bpf.ko", "/cls_bpf-not.ko") // with it tc_bpf is OK
		delete(f.files, "boot/config-6.8.0-45-generic")
		delete(f.files, "proc/sys/kernel/unprivileged_bpf_disabled")
		got, err := Features(t.Context(), []string{feature}, f.System)
		if err != nil || got[0].State != Unknown || strings.Contains(got[0].Cure, "modprobe") {
			t.Errorf("%q, %v, want it unknown, and not that modprobe helps", got, err)
		}
	}
}

func TestCapabilitiesThatEnginesDoWithout(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		state          State
		text           string
	}{
		{"engine 23.0 asks for what it holds", "27.3.1", "23.0.0", OK, "Docker 23.0.0 starts privileged containers without"},
		{"the runtime of hack/engine.sh", `"DefaultRuntime": "runc"`, `"DefaultRuntime": "bounded"`, OK, "runtime bounded"},
		{"no engine yet", `"ServerVersion": "27.3.1"`, `"ServerVersion": ""`, Warn, "lacks CAP_SYS_RESOURCE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := load(t, "ubuntu", 0)
			f.edit("proc/self/status", "CapBnd:\t000001ffffffffff", "CapBnd:\t000001fffeffffff")
			f.edit("run/docker-info", c.old, c.new)
			got := inspectCapabilities(f.System, askEngine(t.Context(), f.System))
			if got.State != c.state || !strings.Contains(got.Text, c.text) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestCapabilityOfALaterKernel(t *testing.T) {
	f := load(t, "ubuntu", 0)
	f.write("proc/sys/kernel/cap_last_cap", "41\n")
	if got := Describe(t.Context(), f.System).MissingCapabilities; !slices.Equal(got, []string{"capability 41"}) {
		t.Errorf("missing %q", got)
	}
}

func TestCgroupVersion(t *testing.T) {
	for _, c := range []struct{ mounts, want string }{
		{"cgroup2 /sys/fs/cgroup cgroup2 rw 0 0", "v2"},
		{"tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0", "v1"},
		{"cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0", "hybrid"},
		{"cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\nnet_cls /opt/vpn/net_cls cgroup rw,net_cls 0 0", "v2"},
		{"cgroup /elsewhere cgroup rw 0 0\nshort", ""},
	} {
		sys := System{Files: fstest.MapFS{"proc/self/mounts": {Data: []byte(c.mounts)}}}
		if got := sys.cgroupVersion(); got != c.want {
			t.Errorf("%q: %q, want %q", c.mounts, got, c.want)
		}
	}
}

func TestKnown(t *testing.T) {
	if names := Known(); !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("not sorted, or one twice: %q", names)
	}
	for _, f := range features {
		for _, name := range slices.Concat(f.any...) {
			if i := slices.IndexFunc(features, func(other feature) bool { return other.name == name }); i < 0 || features[i].any != nil {
				t.Errorf("%s is enough for %s and no feature by itself", name, f.name)
			}
		}
	}
	_, err := Features(t.Context(), []string{"ip_vs", "ipvs", "netfilter"}, load(t, "ubuntu", 0).System)
	if want := "no kernel feature: ipvs, netfilter; there are bpf, "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s…", err, want)
	}
}

// TestLocal asks the machine the test runs on: whatever it is, it has a name
// and what it lacks has a cure.
func TestLocal(t *testing.T) {
	sys := Local()
	if kernel, _ := Release(sys); kernel == "" {
		t.Error("no kernel release")
	}
	for _, f := range notOK(t, sys) {
		if f.Text == "" || f.Cure == "" {
			t.Errorf("%q says too little", f)
		}
	}
	if free, err := sys.FreeBytes("/"); err != nil || free == 0 {
		t.Errorf("free bytes %d, %v", free, err)
	}
}
