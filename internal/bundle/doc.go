// Package bundle packs what runs need of the outside into one file, and reads
// it again on a machine that reaches nothing: the node image, images and charts
// of data planes, and an index with the digest of each. What does not match the
// index, or is missing in it, is refused before anything is made of it.
package bundle
