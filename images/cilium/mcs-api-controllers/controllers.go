// Package controllers stands in for sigs.k8s.io/mcs-api/controllers, which the
// module proxy does not serve at the version Cilium requires. Cilium uses one
// constant of it, in code that only a cluster mesh runs.
package controllers

// DerivedServiceAnnotation names the annotation a ServiceImport carries with
// the name of the Service derived from it.
const DerivedServiceAnnotation = "multicluster.kubernetes.io/derived-service"
