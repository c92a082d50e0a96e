// Package lab conducts a run from scenario and experiment to results: it puts
// the parts in their order and makes sure that whatever happens, nothing is
// left behind and nothing half-written. What a step does is in its package.
package lab
