package capture

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"service-dataplane/pkg/collect"
)

const configMap = "/api/v1/namespaces/kube-system/configmaps/kube-proxy"

// status is what an API server says of a request that it refuses.
func status(code int, reason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
}

func client(t *testing.T, server string) rest.Interface {
	t.Helper()
	client, err := rest.RESTClientFor(&rest.Config{
		Host:    server,
		APIPath: "/api",
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &corev1.SchemeGroupVersion,
			NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestAPI: what is not there is an answer for what need not be there, and
// nothing else is.
func TestAPI(t *testing.T) {
	const object = `{"kind":"ConfigMap","apiVersion":"v1","data":{"config.conf":"mode: iptables"}}` + "\n"
	missing := status(404, "NotFound", `configmaps "kube-proxy" not found`)
	tests := []struct {
		name          string
		code          int
		body          string
		get, optional collect.Outcome
		exit          int
		said          string // part of the record's stderr or error
	}{
		{"there", 200, object, collect.Captured, collect.Captured, 0, ""},
		{"not there", 404, missing, collect.Failed, collect.NotThere, 1, "Error from server (NotFound): "},
		{"its kind is not there", 404, "404 page not found\n", collect.Failed, collect.NotThere, 1, "Error from server (NotFound): "},
		{"the server fails", 500, status(500, "InternalError", "etcdserver: leader changed"), collect.Failed, collect.Failed, -1, "GET " + configMap + ": "},
		{"the server speaks of something else not there", 500, status(500, "InternalError", "Error from server (NotFound): no leader"), collect.Failed, collect.Failed, -1, "GET " + configMap + ": "},
		{"the server is not ready", 503, "", collect.Failed, collect.Failed, -1, "GET " + configMap + ": "},
		{"not allowed to know", 403, status(403, "Forbidden", `configmaps "kube-proxy" is forbidden`), collect.Failed, collect.Failed, -1, "GET " + configMap + ": "},
		{"not logged in", 401, status(401, "Unauthorized", "Unauthorized"), collect.Failed, collect.Failed, -1, "GET " + configMap + ": "},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			var asked []string
			get, optional, dir := ask(t, serve(t, test.code, test.body, &asked))
			for record, want := range map[*collect.Record]collect.Outcome{&get: test.get, &optional: test.optional} {
				if record.Outcome != want || record.ExitCode != test.exit || !strings.Contains(record.Stderr+record.Error, test.said) {
					t.Errorf("%s: %+v; want %s, exit code %d, %q", record.File, *record, want, test.exit, test.said)
				}
			}
			// The command that is recorded is the one that was asked.
			if want := []string{"GET " + configMap, "GET " + configMap}; !slices.Equal(asked, want) {
				t.Errorf("asked %q, want %q", asked, want)
			}
			if want := []string{"kubectl", "get", "--raw", configMap}; !slices.Equal(get.Argv, want) || !slices.Equal(optional.Argv, want) {
				t.Errorf("recorded %q and %q, want %q", get.Argv, optional.Argv, want)
			}
			raw, err := os.ReadFile(filepath.Join(dir, get.File))
			if test.get == collect.Captured && (err != nil || string(raw) != test.body) {
				t.Errorf("raw file is %q, %v; want the bytes that came", raw, err)
			}
		})
	}
}

// TestAPIErrors: the server says why, and the record with it.
func TestAPIErrors(t *testing.T) {
	for code, says := range map[int]string{
		403: status(403, "Forbidden", "configmaps is forbidden: not today"),
		404: status(404, "NotFound", "configmaps not found: not today"),
		500: status(500, "InternalError", "etcdserver: leader changed: not today"),
	} {
		get, _, _ := ask(t, serve(t, code, says, new([]string)))
		if !strings.Contains(get.Stderr+get.Error, ": not today") {
			t.Errorf("%d: %q%q", code, get.Stderr, get.Error)
		}
	}
}

// serve gives every request one answer and keeps what was asked.
func serve(t *testing.T, code int, body string, asked *[]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Method+" "+r.RequestURI)
		if strings.HasPrefix(body, "{") {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// ask gets an object from a server, as one that must be there and as one that
// need not, and returns both records.
func ask(t *testing.T, server string) (get, optional collect.Record, dir string) {
	t.Helper()
	dir = t.TempDir()
	recorder, err := NewRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	must, need := Get("must.json", configMap), GetOptional("need-not.json", configMap)
	must.Timeout, need.Timeout = time.Second, time.Second
	if err := recorder.Run(t.Context(), "cluster", API(client(t, server)), must, need); err != nil {
		t.Fatal(err)
	}
	return recorder.records[0], recorder.records[1], dir
}

// TestAPIWithoutServer: that nobody answers does not say that nothing is there.
func TestAPIWithoutServer(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	for _, test := range []struct{ name, server, says string }{
		{"connection refused", closed.URL, "connection refused"},
		{"no answer", silent.URL, "no answer within 1s"},
	} {
		get, optional, _ := ask(t, test.server)
		for _, record := range []collect.Record{get, optional} {
			if record.Outcome != collect.Failed || record.ExitCode != -1 || !strings.Contains(record.Error, test.says) {
				t.Errorf("%s: %+v, want it failed: %s", test.name, record, test.says)
			}
		}
	}
}
