// Package nodeimage finds or makes the kind node image of a run: the pinned
// kindest/node image from a registry, or one built on this machine from Go
// modules and Debian packages (images/node). It knows nothing of clusters.
package nodeimage
