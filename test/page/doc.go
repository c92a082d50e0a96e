// Package page opens results/index.html in Chromium, from disk: what a reader
// sees and clicks, on a large screen and on a phone, in light and dark, on paper,
// and of evidence that tries to get out of its place. make page-test.
package page
