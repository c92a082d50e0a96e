// Package cluster makes the three-node kind cluster of a scenario, runs
// commands on its nodes and takes it away again. Every cluster has its own
// kubeconfig and a name by which Clean finds it; nothing else on the engine is
// touched. What runs in the cluster is not its business.
package cluster
