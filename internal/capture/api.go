package capture

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"service-dataplane/internal/command"
	"service-dataplane/pkg/collect"
)

// API returns a session of GET requests to the API server, each written as the
// kubectl command that prints the same bytes: kubectl get --raw PATH.
func API(client rest.Interface) Session {
	return OneByOne(func(ctx context.Context, argv []string) (command.Captured, error) {
		uri := argv[len(argv)-1]
		raw, err := get(ctx, client, uri)
		if apierrors.IsNotFound(err) {
			stderr := fmt.Sprintf("Error from server (NotFound): %v\n", err)
			return command.Captured{ExitCode: 1, Stderr: []byte(stderr)}, nil
		}
		if err != nil {
			return command.Captured{Stdout: raw}, fmt.Errorf("GET %s: %w", uri, err)
		}
		return command.Captured{Stdout: raw}, nil
	})
}

// get streams, as kubectl does: DoRaw loses what the server says of an error.
func get(ctx context.Context, client rest.Interface, uri string) ([]byte, error) {
	stream, err := client.Get().RequestURI(uri).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	return io.ReadAll(stream)
}

// notFound is how kubectl says that an object does not exist.
var notFound = regexp.MustCompile(`^Error from server \(NotFound\): `)

// GetOptional is Get for an object that need not exist.
func GetOptional(file, uri string) collect.Command {
	command := Get(file, uri)
	command.Absent = notFound
	return command
}

// Get is the command that API runs.
func Get(file, uri string) collect.Command {
	return collect.Command{File: file, Argv: strings.Fields("kubectl get --raw " + uri)}
}
