package nftables

import (
	"encoding/json"
	"os"
	"strings"
)

// object is a JSON object: of an expression or statement, its kind and fields.
type object = map[string]any

// render writes an expression or statement of the JSON form as nft prints it
// in the text form. It knows those that kube-proxy writes and is false for any
// other.
func render(v any) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		return v.String(), true
	case string:
		// A string that is not one word would be read as other syntax.
		return v, v != "" && !strings.ContainsAny(v, " \t\r\n,;{}\"")
	case []any: // a key and a verdict
		return renderAll(v, " : ", len(v) == 2)
	}
	kind, body, _ := only(v)
	switch body := body.(type) {
	case nil:
		return kind, kind == "accept" || kind == "drop" || kind == "return"
	case []any:
		switch kind {
		case "concat":
			return renderAll(body, " . ", true)
		case "&", "|", "^":
			return renderAll(body, " "+kind+" ", true)
		case "set":
			text, ok := renderAll(body, ", ", true)
			return "{ " + text + " }", ok
		}
	case object:
		text, ok := expand(template(kind, body), body)
		switch text { // what the text form leaves out
		case "meta iifname":
			return "iifname", ok
		case "reject with icmp port-unreachable", "reject with icmpv6 port-unreachable":
			return "reject", ok
		}
		return strings.TrimSuffix(text, " offset 0"), ok
	}
	return "", false
}

// template is the text form of a kind of object, with "$name" for its fields.
func template(kind string, body object) string {
	switch kind {
	case "jump", "goto":
		return kind + " $target"
	case "payload":
		return "$protocol $field"
	case "meta":
		return "meta $key"
	case "ct":
		return "ct $key"
	case "fib":
		return "fib $flags $result"
	case "prefix":
		return "$addr/$len"
	case "numgen":
		return "numgen $mode mod $mod offset $offset"
	case "vmap":
		return "$key vmap $data"
	case "mangle":
		return "$key set $value"
	case "masquerade":
		return "masquerade $flags"
	case "reject":
		return "reject with $type $expr"
	case "set":
		return "$op $set { $elem }"
	case "dnat":
		if addr, _ := body["addr"].(string); strings.Contains(addr, ":") {
			return "dnat to [$addr]:$port"
		}
		return "dnat to $addr:$port"
	case "match":
		// The operator is printed for equality only where the left side
		// computes something, and never for "in".
		left, _, _ := only(body["left"])
		if op := body["op"]; op == "in" || op == "==" && left != "&" {
			delete(body, "op")
			return "$left $right"
		}
		return "$left $op $right"
	}
	return ""
}

// expand fills a template in. It is false where a field is missing, and where
// the object has one that the template does not name.
func expand(template string, body object) (string, bool) {
	ok := template != ""
	text := os.Expand(template, func(name string) string {
		v := body[name]
		delete(body, name)
		// One flag of masquerade is "x", one of fib is ["x"].
		if list, isList := v.([]any); isList && len(list) == 1 {
			v = list[0]
		}
		s, rendered := render(v)
		ok = ok && rendered
		return s
	})
	return text, ok && len(body) == 0
}

func renderAll(list []any, between string, ok bool) (string, bool) {
	texts := make([]string, len(list))
	for i, v := range list {
		s, rendered := render(v)
		texts[i], ok = s, ok && rendered
	}
	return strings.Join(texts, between), ok && len(list) > 0
}

// only returns the key and the value of an object that has one.
func only(v any) (kind string, body any, ok bool) {
	if o, isObject := v.(object); isObject && len(o) == 1 {
		for kind, body := range o {
			return kind, body, true
		}
	}
	return "", nil, false
}
