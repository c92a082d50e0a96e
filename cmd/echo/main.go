// Command echo is the workload of the experiments: server, dialler and idle
// client in one static binary.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"service-dataplane/internal/echo"
)

const usage = `usage:
  echo serve [--listen :8080]
      answer GET / with who answers and which addresses it sees
  echo dial --target HOST:PORT [--count 12] [--timeout 5s] [--entry NAME]
      make new connections one after another; one JSON line each
  echo idle
      wait to be stopped
`

// usageError is a command line that asks for nothing that exists.
type usageError struct{ error }

func main() {
	// A process with PID 1 ignores SIGTERM unless it asks for it.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit code: 0 done, 1 failed, 2 usage. Failed attempts of a
// dial are its result, not its failure.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := command(ctx, args, stdout, stderr)
	if err == nil {
		return 0
	}
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stderr, usage)
		return 0
	}
	fmt.Fprintln(stderr, "echo:", err)
	if errors.As(err, new(usageError)) {
		fmt.Fprint(stderr, usage)
		return 2
	}
	return 1
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return usageError{errors.New("no command")}
	}
	switch name, args := args[0], args[1:]; name {
	case "serve":
		return serve(ctx, args, stderr)
	case "dial":
		return dial(ctx, args, stdout)
	case "idle":
		return idle(ctx, args)
	case "-h", "-help", "--help", "help":
		return flag.ErrHelp
	default:
		return usageError{fmt.Errorf("unknown command %q", name)}
	}
}

func serve(ctx context.Context, args []string, stderr io.Writer) error {
	flags := newFlags("serve")
	address := flags.String("listen", ":8080", "")
	if err := parse(flags, args); err != nil {
		return err
	}
	self, err := echo.IdentityFromEnv(os.Getenv)
	if err != nil {
		return err
	}
	listener, err := echo.Listen(ctx, *address)
	if err != nil {
		return err
	}
	fmt.Fprintln(stderr, "serving on", listener.Addr())
	return echo.Serve(ctx, listener, self)
}

func dial(ctx context.Context, args []string, stdout io.Writer) error {
	var plan echo.Plan
	flags := newFlags("dial")
	flags.StringVar(&plan.Target, "target", "", "")
	flags.StringVar(&plan.Entry, "entry", "", "")
	flags.IntVar(&plan.Count, "count", 12, "")
	flags.DurationVar(&plan.Timeout, "timeout", 5*time.Second, "")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := plan.Validate(); err != nil {
		return usageError{err}
	}
	return plan.Run(ctx, stdout)
}

func idle(ctx context.Context, args []string) error {
	if err := parse(newFlags("idle"), args); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// newFlags makes a silent flag set: run prints the error and the one usage
// text.
func newFlags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return usageError{err}
	}
	if flags.NArg() > 0 {
		return usageError{fmt.Errorf("%s: unexpected argument %q", flags.Name(), flags.Arg(0))}
	}
	return nil
}
