// Package walk takes the first packet of a connection through chains of rules,
// whatever kernel syntax they were read from: a packet branches where a rule takes
// a part of what meets it, comes back from chains it was sent to, and carries its
// mark and its translation along.
//
// It knows neither syntax nor hooks. A rule that an encoding does not understand
// stops the walk; one that asks for something the evidence does not tell is tried
// both ways, see Decide.
package walk
