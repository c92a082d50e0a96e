// Package workload puts the shared echo workload into a cluster: the image
// built from cmd/echo, the chart installed with Helm, and the wait until every
// part is ready. It sends no connections.
package workload
