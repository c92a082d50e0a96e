package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lock makes sure that one run at a time uses this host's engine: two would
// fight over clusters of the same names. The kernel releases it with the
// process, however that ends.
func lock() (unlock func(), err error) {
	path := filepath.Join(os.TempDir(), "service-dataplane.lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder := make([]byte, 32)
		n, _ := file.Read(holder)
		file.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		return nil, fmt.Errorf("another run is under way (pid %s): wait for it or interrupt it", holder[:n])
	}
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteAt(fmt.Appendf(nil, "%d", os.Getpid()), 0)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}
