package iptables

import (
	"net/netip"

	"service-dataplane/pkg/collect/internal/walk"
)

// branch is what a rule's target does with a packet.
func (w *walker) branch(t *walk.Table, r sentence) (walk.Branch, error) {
	if t.Chains[r.target] != nil {
		if len(r.options) > 0 {
			return walk.Branch{}, walk.Stopf("options of a jump to the chain %s", r.target)
		}
		if r.isGoto {
			return walk.Branch{Verdict: walk.Goto, Chain: r.target}, nil
		}
		return walk.Branch{Verdict: walk.Jump, Chain: r.target}, nil
	}
	plain := map[string]walk.Verdict{
		"": walk.Continue, "ACCEPT": walk.Accept, "DROP": walk.Drop, "RETURN": walk.Return,
		"REJECT": walk.Reject, "MASQUERADE": walk.Masquerade, "SNAT": walk.Masquerade,
	}
	verdict, isPlain := plain[r.target]
	switch {
	case r.isGoto:
	case isPlain:
		return walk.Branch{Verdict: verdict}, nil
	case r.target == "MARK":
		return setMark(r.options)
	case r.target == "DNAT":
		return translate(r.options)
	}
	return walk.Branch{}, walk.Stopf("the target %s is neither a chain of the table %s nor one that this walk knows", r.target, t.Name)
}

// setMark reads "--set-xmark VALUE/MASK": the mark loses the bits of the mask and
// then flips those of the value (xt_mark.c).
func setMark(options []clause) (walk.Branch, error) {
	if len(options) != 1 || options[0].option != "--set-xmark" || len(options[0].values) != 1 {
		return walk.Branch{}, walk.Stopf("the target MARK does something else than --set-xmark")
	}
	value, mask, err := masked(options[0].values[0])
	return walk.Branch{Verdict: walk.Continue, Clear: mask, Flip: value}, err
}

// translate reads "--to-destination ADDRESS:PORT".
func translate(options []clause) (walk.Branch, error) {
	if len(options) != 1 || options[0].option != "--to-destination" || len(options[0].values) != 1 {
		return walk.Branch{}, walk.Stopf("the target DNAT does something else than --to-destination")
	}
	to, err := netip.ParseAddrPort(options[0].values[0])
	if err != nil {
		return walk.Branch{}, walk.Stopf("DNAT to %q, which is not one address and port", options[0].values[0])
	}
	return walk.Branch{Verdict: walk.Translate, To: to}, nil
}
