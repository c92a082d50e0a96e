package echo

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// socket is what the kernel says about a connected TCP socket of ours.
type socket struct {
	// peername is getpeername(2) now; net.Conn.RemoteAddr is what was dialled.
	peername netip.AddrPort
	// table is the file that lists sockets of this family.
	table string
	inode uint64
}

func socketOf(conn syscall.Conn) (socket, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return socket{}, err
	}
	var (
		peer             syscall.Sockaddr
		stat             syscall.Stat_t
		peerErr, statErr error
	)
	err = raw.Control(func(fd uintptr) {
		peer, peerErr = syscall.Getpeername(int(fd))
		// The inode number is that of the link /proc/self/fd/N.
		statErr = syscall.Fstat(int(fd), &stat)
	})
	switch {
	case err != nil:
		return socket{}, err
	case peerErr != nil:
		return socket{}, os.NewSyscallError("getpeername", peerErr)
	case statErr != nil:
		return socket{}, os.NewSyscallError("fstat", statErr)
	}

	s := socket{inode: stat.Ino}
	switch peer := peer.(type) {
	case *syscall.SockaddrInet4:
		s.peername = netip.AddrPortFrom(netip.AddrFrom4(peer.Addr), uint16(peer.Port))
		s.table = "/proc/self/net/tcp"
	case *syscall.SockaddrInet6:
		s.peername = netip.AddrPortFrom(netip.AddrFrom16(peer.Addr).Unmap(), uint16(peer.Port))
		s.table = "/proc/self/net/tcp6"
	default:
		return socket{}, fmt.Errorf("getpeername: a %T is no TCP address", peer)
	}
	return s, nil
}

func (s socket) kernelRemote() (netip.AddrPort, error) {
	table, err := os.ReadFile(s.table)
	if err != nil {
		return netip.AddrPort{}, err
	}
	remote, err := remoteOf(table, s.inode)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%s: %w", s.table, err)
	}
	return remote, nil
}

// Columns of a row, counted from 0. The header has more: the row joins
// "tx_queue rx_queue" and "tr tm->when" with a colon.
const (
	remoteColumn = 2
	inodeColumn  = 9
)

// remoteOf finds the socket with this inode number in a table of the form of
// /proc/net/tcp and tcp6 (Linux, Documentation/networking/proc_net_tcp.rst) and
// returns its remote address. A row it cannot read is an error that names the
// line, whosever row it is; so is a socket that is not there.
func remoteOf(table []byte, inode uint64) (netip.AddrPort, error) {
	if inode == 0 {
		return netip.AddrPort{}, errors.New("inode 0 stands for every socket that no process holds")
	}
	number := 0
	for line := range strings.Lines(string(table)) {
		number++
		columns := strings.Fields(line)
		if number == 1 {
			if len(columns) == 0 || columns[0] != "sl" {
				return netip.AddrPort{}, fmt.Errorf("line 1: want the header of a socket table: %.200q", line)
			}
			continue
		}
		if len(columns) <= inodeColumn {
			return netip.AddrPort{}, fmt.Errorf("line %d: the row ends before its inode: %.200q", number, line)
		}
		found, err := strconv.ParseUint(columns[inodeColumn], 10, 64)
		if err != nil {
			return netip.AddrPort{}, fmt.Errorf("line %d: inode: %w", number, err)
		}
		if found != inode {
			continue
		}
		remote, err := parseHexAddrPort(columns[remoteColumn])
		if err != nil {
			return netip.AddrPort{}, fmt.Errorf("line %d: remote address: %w", number, err)
		}
		return remote, nil
	}
	return netip.AddrPort{}, fmt.Errorf("no socket with inode %d in %d lines", inode, number)
}

// parseHexAddrPort decodes "0100007F:1F90". The address is in 32-bit words of
// the machine's byte order (little-endian here: amd64 and arm64), the port is a
// plain number.
func parseHexAddrPort(s string) (netip.AddrPort, error) {
	host, service, _ := strings.Cut(s, ":")
	raw, err := hex.DecodeString(host)
	if err != nil || (len(raw) != net.IPv4len && len(raw) != net.IPv6len) {
		return netip.AddrPort{}, fmt.Errorf("want 8 or 32 hex digits before the colon: %q", s)
	}
	port, err := strconv.ParseUint(service, 16, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("want a hex port after the colon: %q", s)
	}
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	address, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(address.Unmap(), uint16(port)), nil
}
