package imagebuild

import (
	"context"
	"errors"
	"io"
	"strings"

	"service-dataplane/internal/command"
)

// Import makes the directory root an image of the engine, without metadata, and
// returns its ID. The image gets its name, if one is given, when it is whole.
func Import(ctx context.Context, root, reference string) (string, error) {
	reader, writer := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := command.Run(ctx, command.Command{
			Argv:   []string{"tar", "--create", "--numeric-owner", "--xattrs", "--directory", root, "."},
			Stdout: writer,
		})
		writer.CloseWithError(err)
		packed <- err
	}()
	argv := []string{"docker", "import", "-"}
	if reference != "" {
		argv = append(argv, reference)
	}
	var id strings.Builder
	err := command.Run(ctx, command.Command{Argv: argv, Stdin: reader, Stdout: &id})
	reader.Close() // an import that failed early must not leave tar waiting
	return strings.TrimSpace(id.String()), errors.Join(err, <-packed)
}
