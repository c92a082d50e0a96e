package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"path"
	"strings"

	"service-dataplane/internal/diff"
	"service-dataplane/pkg/collect"
)

// The elements of JUnit's report, as those read it who show it: Jenkins, GitLab,
// GitHub actions (https://github.com/testmoapp/junitxml). encoding/xml escapes,
// and puts U+FFFD in the place of what XML 1.0 forbids.
type (
	testsuites struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		totals
		Suites []testsuite `xml:"testsuite"`
	}
	testsuite struct {
		Name string `xml:"name,attr"`
		totals
		// Timestamp in UTC, without a zone as the form wants it.
		Timestamp  string     `xml:"timestamp,attr"`
		Properties []property `xml:"properties>property"`
		Cases      []testcase `xml:"testcase"`
	}
	totals struct {
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"` // seconds
	}
	property struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	testcase struct {
		Name      string   `xml:"name,attr"`
		Classname string   `xml:"classname,attr"`
		Failure   *verdict `xml:"failure"`
		Error     *verdict `xml:"error"`
		Skipped   *verdict `xml:"skipped"`
	}
	verdict struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit is a report that CI systems show: a suite a run, a case a check. A check
// that is inconclusive is an error: it says nothing of what it tests.
func JUnit(runs []IndexEntry) ([]byte, error) {
	all := testsuites{Name: "service-dataplane"}
	seconds := 0.0
	for _, r := range runs {
		name := []string{printable(r.Run.Experiment.Metadata.Name), printable(r.Run.Scenario.Metadata.Name)}
		took := 0.0
		for _, step := range r.Run.Timings {
			took += step.Seconds
		}
		suite := testsuite{Name: strings.Join(name, "/"), Timestamp: RecordedAt(r).UTC().Format("2006-01-02T15:04:05")}
		for _, c := range diff.Circumstances(r.Run, r.Evidence) {
			if c.Value != "" {
				suite.Properties = append(suite.Properties, property{printable(c.Name), printable(c.Value)})
			}
		}
		for _, c := range r.Checks {
			suite.add(r, c, strings.Join(name, "."))
		}
		suite.Time = fmt.Sprintf("%.3f", took)
		seconds += took
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Errors += suite.Errors
		all.Skipped += suite.Skipped
		all.Suites = append(all.Suites, suite)
	}
	all.Time = fmt.Sprintf("%.3f", seconds)
	out, err := xml.MarshalIndent(all, "", "  ")
	return fmt.Appendf(nil, "%s%s\n", xml.Header, out), err
}

func (s *testsuite) add(r IndexEntry, c collect.Check, class string) {
	test := testcase{Name: printable(c.ID), Classname: class}
	says := &verdict{Message: printable(c.Reason), Type: string(c.Verdict), Text: found(r, c)}
	switch c.Verdict {
	case collect.Fail:
		test.Failure = says
		s.Failures++
	case collect.Skip:
		test.Skipped = &verdict{Message: says.Message}
		s.Skipped++
	case collect.Inconclusive:
		test.Error = says
		s.Errors++
	}
	s.Tests++
	s.Cases = append(s.Cases, test)
}

// found is what a check wants, and each place that decided it: file:line from
// where the report was made.
func found(r IndexEntry, c collect.Check) string {
	lines := []string{"", "want: " + printable(c.Statement)}
	for _, f := range c.Findings {
		where := cmp.Or(f.Node, "cluster")
		if f.Ref.File != "" {
			where = rawPlace(r, f.Ref)
		}
		lines = append(lines, printable(where+": "+f.Text))
	}
	return strings.Join(append(lines, ""), "\n")
}

// rawPlace is a Ref as a path from the working directory.
func rawPlace(r IndexEntry, ref collect.Ref) string { return path.Join(r.Dir, "raw", place(ref)) }
