package report

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"service-dataplane/internal/evidence"
	"service-dataplane/internal/imagebuild"
	"service-dataplane/pkg/collect"
)

func TestEscape(t *testing.T) {
	tests := []struct{ text, escaped, code string }{
		{"echo-server", "echo-server", "`echo-server`"},
		{"", "", "(empty)"},
		{"a|b", "a&#124;b", "<code>a&#124;b</code>"},
		{"a`b``c", "a&#96;b&#96;&#96;c", "<code>a&#96;b&#96;&#96;c</code>"},
		{"a\nb\r\n| c", "a b  &#124; c", "<code>a b  &#124; c</code>"},
		{"<script>&amp;", "&lt;script&gt;&amp;amp;", "<code>&lt;script&gt;&amp;amp;</code>"},
		{`[x](javascript:y) **b** _i_ ~~s~~ $m$ \|`, `\[x\](javascript:y) \*\*b\*\* \_i\_ \~\~s\~\~ \$m\$ \\&#124;`,
			`<code>\[x\](javascript:y) \*\*b\*\* \_i\_ \~\~s\~\~ \$m\$ \\&#124;</code>`},
		{"\x1b[31mred\x00\u202e", "\ufffd\\[31mred\ufffd\ufffd", "<code>\ufffd\\[31mred\ufffd\ufffd</code>"},
		{"\xff", "\ufffd", "<code>\ufffd</code>"},
		{" x", " x", "<code> x</code>"},
	}
	for _, test := range tests {
		if got := escape(test.text); got != test.escaped {
			t.Errorf("escape(%q) = %q, want %q", test.text, got, test.escaped)
		}
		if got := code(test.text); got != test.code {
			t.Errorf("code(%q) = %q, want %q", test.text, got, test.code)
		}
	}
}

func TestFenceCannotBeClosed(t *testing.T) {
	var d document
	d.fence([]string{"```", "x ````` y", "a\x1bb"})
	if want := "``````text\n```\nx ````` y\na\ufffdb\n``````\n\n"; d.String() != want {
		t.Errorf("fence = %q, want %q", d.String(), want)
	}
}

func TestLinkOfHostileFile(t *testing.T) {
	got := link(collect.Ref{File: "a b/../x)y|`.txt", Line: collect.Line{Number: 3}})
	if want := "[<code>a b/../x)y&#124;&#96;.txt:3</code>](raw/a%20b/../x%29y%7C%60.txt#L3)"; got != want {
		t.Errorf("link = %s, want %s", got, want)
	}
}

// TestHostileNames: whatever a cluster calls its things, a page keeps its form.
func TestHostileNames(t *testing.T) {
	for _, scenario := range []string{"ipvs", "cilium", "cilium-kube-proxy", "calico-ebpf"} {
		t.Run(scenario, func(t *testing.T) { hostileNames(t, newFixture(t, scenario)) })
	}
}

func hostileNames(t *testing.T, f *fixture) {
	t.Helper()
	const hostile = "x`|\n\n# <img src=x>\n```\n| a | b |\x1b[2J"
	f.everyVerdict()
	before := form(f.page())
	f.hostilePlane(hostile)
	f.run.Host.OS, f.run.Image.Reference, f.run.Timings[0].Step = hostile, hostile, hostile
	if f.e.Mode.Declared.Value != collect.Absent {
		f.e.Mode.Declared.Value = hostile
	}
	if f.e.Mode.Nodes[0].ProxyMode.Value != collect.Absent {
		f.e.Mode.Nodes[0].ProxyMode.Value = hostile
	}
	f.e.Objects.Endpoints[0].Pod, f.e.Objects.Service.TargetPort = hostile, hostile
	f.e.Nodes[1].KubeletVersion = hostile
	f.e.Problems[0].Text = hostile
	f.e.Traffic[0].Name = hostile
	f.e.Traffic[len(f.e.Traffic)-1].Attempts[2].Error = hostile
	for i := range f.e.Traffic[0].Attempts {
		f.e.Traffic[0].Attempts[i].Backend.Node = hostile
	}
	for i := range f.checks {
		f.checks[i].Statement = hostile
		if f.checks[i].Reason != "" {
			f.checks[i].Reason = hostile + " in sum"
		}
		for j := range f.checks[i].Findings {
			f.checks[i].Findings[j].Text = hostile
		}
	}
	page := f.page()
	if after := form(page); after != before {
		t.Errorf("the page's form has changed:\n%s", firstDifference(before, after))
	}
	if strings.Contains(outsideFences(page), "<img") || strings.Contains(page, "\x1b") {
		t.Error("the page is not safe")
	}
	index := string(Index([]IndexEntry{{f.run, f.e, f.checks, "x"}}))
	if strings.Contains(index, "<img") || strings.Contains(index, "\n# <") {
		t.Errorf("the index is not safe:\n%s", index)
	}
}

// outsideFences is what a page does not merely quote.
func outsideFences(page string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(page) {
		mark := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence != "" && mark == fence:
			fence = ""
		case fence == "" && len(mark) >= 3:
			fence = mark
		case fence == "":
			b.WriteString(line)
		}
	}
	return b.String()
}

// hostilePlane renames what a cluster with Cilium or Calico says.
func (f *fixture) hostilePlane(hostile string) {
	if f.run.DataPlane == nil {
		return
	}
	p := f.run.DataPlane
	p.Chart, p.Version, p.Deviations = hostile, hostile, slices.Repeat([]string{hostile}, len(p.Deviations))
	for part := range p.Images {
		p.Images[part] = imagebuild.Image{Reference: hostile, Origin: hostile, ContentKey: hostile}
	}
	if p.Values["ipam"] != nil {
		p.Values["ipam"] = map[string]any{"mode": "x | ``` `"}
	}
	f.e.Mode.KubeProxy.Ref.Line.Text, f.e.Mode.Agent.Ref.Line.Text = hostile, hostile
	f.hostileCalico(hostile)
	for i := range f.e.Mode.Nodes {
		if a := f.e.Mode.Nodes[i].Agent; a != nil {
			for _, o := range []*collect.Observation{&a.AttachMode, &a.Version, &a.State, &a.Health} {
				o.Value, o.Ref.Line.Text = hostile, hostile
			}
		}
		for j, t := range f.e.Kernel[i].Tables {
			if maker(t.Encoding) != "" {
				f.e.Kernel[i].Tables[j].Frontends[4].Line.Text = hostile + "): " + hostile
				f.e.Kernel[i].Tables[j].Frontends[4].Backends[0].Line.Text = hostile + "): " + hostile
			}
		}
		for j := range f.e.Kernel[i].Translations {
			f.e.Kernel[i].Translations[j].Ref.Line.Text = hostile
		}
	}
}

// hostileCalico renames what its operator says, and a device.
func (f *fixture) hostileCalico(hostile string) {
	c := f.e.Mode.Calico
	if c == nil {
		return
	}
	for _, o := range []*collect.Observation{
		&c.Bootstrap, &c.KubeProxyManagement, &c.Version, &c.ConnectTime, &c.UsageReporting, &c.Components[0].State,
	} {
		o.Value, o.Ref.Line.Text = hostile, hostile
	}
	c.Components[1].Name = hostile
	c.Dataplane.Ref.Line.Text, c.ProxySelector.Ref.Line.Text = hostile, hostile
	for i := range f.e.Mode.Nodes {
		n := &f.e.Mode.Nodes[i]
		for _, o := range []*collect.Observation{&n.Hooks, &n.Version} {
			o.Value, o.Ref.Line.Text = hostile, hostile
		}
		name, err := json.Marshal(hostile)
		f.must(err)
		file := n.Node + "/" + evidence.AddressesFile
		f.file(file, strings.ReplaceAll(string(f.raw[file].Data), `"vxlan.calico"`, string(name)))
	}
}

var cellForm = regexp.MustCompile(`[^|]+`)

// form is a page without its words: headings, cells a row, fences.
func form(page string) string {
	var b strings.Builder
	for _, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "|"):
			b.WriteString(cellForm.ReplaceAllString(line, " "))
		case strings.HasPrefix(line, "```"):
			b.WriteString("fence")
		case strings.HasPrefix(line, "#"):
			b.WriteString("heading")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
