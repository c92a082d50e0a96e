// Package imagebuild is what finding and making images has in common: asking
// the engine and registries, the key over what goes in, compiling nested Go
// modules, Debian packages of the host's own release, and single files of them
// with the libraries they load. It knows no image by name.
package imagebuild
