// Package guest runs a job on a second kernel: Debian's, in a virtual machine
// that QEMU emulates or KVM runs. A job and its output travel through a
// directory that both share. The package knows nothing of clusters.
package guest
