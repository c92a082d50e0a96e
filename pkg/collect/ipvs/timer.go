package ipvs

import (
	"fmt"
	"math"
)

// tickRate finds the kernel's CONFIG_HZ, in ticks a second, from two lines of
// /proc/timer_list; 0 where they do not tell. No file of /proc states it: what
// user space calls clock ticks (USER_HZ) is 100 on every kernel.
//
// The tick counter starts 300 seconds before the 32-bit wrap (INITIAL_JIFFIES
// in the kernel's include/linux/jiffies.h) while the monotonic clock starts at
// 0, so a rate is right if both then show the same uptime. Around an uptime of
// 300 seconds every rate does.
func tickRate(timerList []byte) int {
	var now, ticks uint64 // nanoseconds; ticks
	for line := range lines(timerList) {
		// A line of another form leaves both as they are.
		_, _ = fmt.Sscanf(line.Text, "now at %d nsecs", &now)
		_, _ = fmt.Sscanf(line.Text, "jiffies: %d", &ticks)
	}
	if now == 0 || ticks == 0 {
		return 0
	}
	const (
		wrap      = 1 << 32
		beforeIt  = 300 // seconds
		tolerance = 2   // seconds; the counter starts a little after the clock
	)
	uptime := float64(now) / 1e9
	found := 0
	for _, hz := range []int{100, 250, 300, 1000} { // the choices of kernel/Kconfig.hz
		shown := (float64(ticks)-wrap)/float64(hz) + beforeIt
		if math.Abs(shown-uptime) > tolerance {
			continue
		}
		if found != 0 {
			return 0
		}
		found = hz
	}
	return found
}
