// Package echo is the workload. Serve answers every request with who it is
// and which addresses it sees; a Plan makes new connections to a target and
// writes one Attempt a line: what the caller dialled, what its socket claims,
// what the kernel's socket table holds and what the server saw. ParseAttempts
// reads those lines back.
//
// It knows nothing of Kubernetes objects or data planes and draws no
// conclusions: comparing the addresses is for whoever reads the attempts.
package echo
