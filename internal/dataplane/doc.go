// Package dataplane installs what implements Services beside kube-proxy or in
// its place: it finds or builds the pinned images, loads them into the nodes,
// installs the chart with the scenario's values and waits until the data plane
// itself says on every node that it works. It judges no evidence.
package dataplane
