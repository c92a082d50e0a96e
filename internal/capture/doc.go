// Package capture runs what the collectors ask for and keeps every answer as
// it came: the bytes in a file below raw/, how it was got in raw/index.json.
// A command that fails is recorded and the others go on. It decodes nothing.
package capture
