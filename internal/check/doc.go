// Package check judges evidence against what a scenario and an experiment
// expect: collect.Evidence goes in, a verdict for each check comes out. A
// check never passes on a file that could not be used, or on nothing at all.
//
// It reads no file and must not know how the evidence was recorded.
package check
