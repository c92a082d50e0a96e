package host

import (
	"context"
	"strings"
)

// guestMemory is what a guest takes, its disk while it is made, and what QEMU
// translates, in bytes.
const guestMemory = 12 << 30

// InspectGuest looks at what a guest kernel needs here: see package guest.
func InspectGuest(ctx context.Context, sys System) Finding {
	const subject = "guest"
	var lacks, cures []string
	lack := func(what, cure string) { lacks, cures = append(lacks, what), append(cures, cure) }
	if sys.Arch != "amd64" {
		return Finding{subject, Missing, "guests are made for amd64, and this host is " + sys.Arch, "a host of amd64, or one whose own kernel has what is needed"}
	}
	if sys.UID != 0 {
		lack("root", "run as root")
	}
	emulator, err := sys.Run(ctx, "qemu-system-x86_64", "--version")
	if err != nil {
		lack("QEMU", "hack/guest.sh (apt-get install qemu-system-x86)")
	}
	if _, err := sys.Run(ctx, "mke2fs", "-V"); err != nil {
		lack("mke2fs", "apt-get install e2fsprogs")
	}
	if available := sys.memory("MemAvailable"); available < guestMemory {
		lack(gib(guestMemory)+" of memory ("+gib(available)+" available)", "end what is not needed")
	}
	if len(lacks) > 0 {
		return Finding{subject, Missing, "no second kernel can run here without " + strings.Join(lacks, " and "), strings.Join(cures, ", ")}
	}
	emulator, _, _ = strings.Cut(emulator, "\n")
	emulator, _, _ = strings.Cut(emulator, " (")
	how := "emulated, a run takes a quarter of an hour"
	if sys.exists("/dev/kvm") {
		how = "on /dev/kvm, or emulated where that does not run it"
	}
	return Finding{subject, OK, emulator + ", " + how, ""}
}
