// Package workflow holds the workflow of .github to what its users are
// promised, and hack/ci-job.sh to its exit codes. It needs no runner of GitHub's.
package workflow
