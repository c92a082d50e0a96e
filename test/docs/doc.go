// Package docs holds the pages of this tree to what they speak of: links lead
// somewhere, quotations are of the run that is named, and the two forms of the
// citation agree. docs/checks.md is held to the checks in internal/check.
package docs
