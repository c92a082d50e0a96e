package calico

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// FuzzForms changes the values of one row among others: both forms give one table.
func FuzzForms(f *testing.F) {
	f.Add("10.96.0.2", uint16(80), uint8(6), "", uint32(1), int64(2), uint32(1), uint8(0))
	f.Add("172.18.0.7", uint16(30081), uint8(17), "", uint32(2), int64(1), uint32(0), uint8(2))
	f.Add("203.0.113.6", uint16(80), uint8(132), "192.0.2.0/25", uint32(1), int64(-1), uint32(9), uint8(5))
	f.Add("255.255.255.255", uint16(30082), uint8(6), "", uint32(7), int64(0), uint32(0), uint8(15))
	f.Fuzz(func(t *testing.T, addr string, port uint16, proto uint8, source string, id uint32, count int64, local uint32, flags uint8) {
		var names []string
		for i, name := range []string{flagExternalLocal, flagInternalLocal, flagExclude, "maglev"} {
			if flags&(1<<i) != 0 {
				names = append(names, name)
			}
		}
		changed := fields{addr, port, proto, source, id, count, local, strings.Join(names, ", ")}
		if _, err := changed.row(1); err != nil {
			return
		}
		var elements, lines []string
		for _, row := range []fields{
			{"10.96.0.1", 80, 6, "", 1, 2, 1, ""},
			{"172.18.0.6", 30081, 6, "", 1, 2, 1, ""},
			{"255.255.255.255", 30081, 6, "", 1, 2, 1, ""},
			changed,
		} {
			head, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			elements = append(elements, fmt.Sprintf(`{"frontend": %s, "backends": [{"addr": "10.1.0.1", "port": 8080}, {"addr": "missing", "port": 0}]}`, head))
			lines = append(lines, fmt.Sprintf("%s\n\t%d:0\t 10.1.0.1:8080\n\t%d:1\t is missing\n", row, row.ID, row.ID))
		}
		text := []byte(strings.Join(lines, ""))
		fromJSON := checkDecode(t, Raw{NAT: []byte("[" + strings.Join(elements, ",\n") + "]")})
		fromText := checkDecode(t, Raw{NATText: text})
		if fromJSON == nil || fromText == nil {
			t.Fatalf("not decoded: %s", text)
		}
		rows, rest, _ := readText(text)
		checkRows(t, rows, rest, *fromText)
		if a, b := unnumbered(*fromJSON), unnumbered(*fromText); !reflect.DeepEqual(a, b) {
			t.Errorf("JSON %+v\ntext %+v", a, b)
		}
	})
}
