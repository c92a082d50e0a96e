package capture

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	"service-dataplane/internal/command"
	"service-dataplane/pkg/collect"
)

// API returns a session of GET requests to the API server, each written as the
// kubectl command that prints the same bytes: kubectl get --raw PATH.
func API(client rest.Interface) Session {
	return OneByOne(func(ctx context.Context, argv []string) (command.Captured, error) {
		uri := argv[len(argv)-1]
		raw, err := client.Get().RequestURI(uri).DoRaw(ctx)
		if err != nil {
			return command.Captured{Stdout: raw}, fmt.Errorf("GET %s: %w", uri, err)
		}
		return command.Captured{Stdout: raw}, nil
	})
}

// Get is the command that API runs.
func Get(file, uri string) collect.Command {
	return collect.Command{File: file, Argv: strings.Fields("kubectl get --raw " + uri)}
}
