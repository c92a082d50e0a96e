// Package jsonlines reads JSON and keeps for each value the line it begins at,
// which encoding/json does not tell: a file goes in, the value it holds comes out,
// and from that the values inside of it. Errors name the line. It is no reader of
// the format of that name, JSON Lines.
//
// It must not know what a file means, nor which one it is: the caller names it.
package jsonlines
