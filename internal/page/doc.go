// Package page is results/index.html: runs go in as they were derived, one file
// comes out that needs no network, no script and nothing beside it. The same
// runs give the same bytes.
//
// It judges nothing, and it trusts nothing: every text of a cluster gets to the
// page through html/template, drawings included, and the page forbids a browser
// to run or to load what it did not bring along.
package page
