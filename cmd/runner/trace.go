package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"service-dataplane/internal/lab"
	"service-dataplane/internal/report"
	"service-dataplane/internal/results"
	"service-dataplane/internal/trace"
)

func newTrace(s *settings) *cobra.Command {
	var request trace.Request
	cmd := &cobra.Command{
		Use:   "trace RESULT --node NODE --from POD|ADDRESS --to ADDRESS:PORT[/PROTOCOL]",
		Short: "Walk one new connection through the kernel state of a node",
		Long: `Follows one new connection through what a result has of a node's kernel, rule by
rule from the raw files, and prints every hop with its line, whether the packet
is marked for masquerade, and which backends it can get. It reads no service
table and guesses nothing: what it does not understand ends the walk at that
line, with exit code 4.`,
		Example: `  runner trace results/service-path/iptables --node worker2 \
      --from service-dataplane/client --to 172.18.0.2:30081
  runner trace results/service-path/nftables --node worker --from 172.18.0.1 \
      --to 10.96.0.10:53/udp`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.resolve(); err != nil {
				return err
			}
			run, err := results.ReadRun(args[0])
			if err != nil {
				return err
			}
			walk, err := lab.Trace(args[0], run, request)
			var stopped *trace.Stopped
			var usage *trace.UsageError
			switch {
			case errors.As(err, &usage):
				return err
			case err != nil && !errors.As(err, &stopped):
				return &exitError{code: exitIncomplete, err: err}
			}
			if printErr := s.print(cmd.OutOrStdout(), walk, func(w io.Writer) { report.Walk(w, walk) }); printErr != nil {
				return printErr
			}
			if stopped != nil {
				return &exitError{code: exitIncomplete, err: stopped}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&request.Node, "node", "", "role of the node whose kernel is asked: control-plane, worker, worker2")
	flags.StringVar(&request.From, "from", "", "client: a pod as NAME or NAMESPACE/NAME, or an address")
	flags.StringVar(&request.To, "to", "", "what it dials: ADDRESS:PORT, with /udp or /sctp for another protocol than tcp")
	flags.StringVar(&request.Encoding, "encoding", "", "ask this encoding alone: cilium, calico, ipvs, nftables, iptables (default: what the packet meets)")
	for _, name := range []string{"node", "from", "to"} {
		_ = cmd.MarkFlagRequired(name) // it is one of the flags above
	}
	return cmd
}
