package collect_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"service-dataplane/pkg/collect"
)

// TestStatisticShare: what kube-proxy writes for one of n comes back as 1/n from what
// iptables prints of it.
func TestStatisticShare(t *testing.T) {
	for n := int64(1); n <= 2000; n++ {
		written, _ := strconv.ParseFloat(fmt.Sprintf("%0.10f", 1/float64(n)), 64)
		kept := float64(int64(written*(1<<31) + 0.5))
		printed, _ := strconv.ParseFloat(fmt.Sprintf("%.11f", kept/(1<<31)), 64)
		share, ok := collect.StatisticShare(printed)
		if !ok || share.Compare(collect.Part(1, n)) != 0 {
			t.Fatalf("1/%d is printed as %.11f and read as %s", n, printed, share)
		}
	}
	for text, want := range map[string]string{"0.75": "3/4", "0": "0", "0.6": "0.600000000"} {
		p, _ := strconv.ParseFloat(text, 64)
		if share, ok := collect.StatisticShare(p); !ok || share.String() != want {
			t.Errorf("%s is read as %s, want %s", text, share, want)
		}
	}
	for _, p := range []float64{-0.1, 1.1} {
		if share, ok := collect.StatisticShare(p); ok {
			t.Errorf("%v is read as %s", p, share)
		}
	}
}

func TestShareAsText(t *testing.T) {
	written, err := json.Marshal(collect.Part(2, 6))
	if err != nil || string(written) != `"1/3"` {
		t.Fatal(string(written), err)
	}
	var read collect.Share
	if err := json.Unmarshal(written, &read); err != nil || read.Compare(collect.Part(1, 3)) != 0 {
		t.Error(read, err)
	}
}
