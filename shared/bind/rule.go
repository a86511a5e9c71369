package bind

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// rule is a parsed `bind` tag.
type rule struct {
	required, secret bool
	min, max         *float64
	enum             []string
	types            []string // of JSON, for a field that takes several
	def              *string
}

// parseRule reads the tag of a field. A tag that does not parse is a bug of ours, found by the first test that binds.
func parseRule(sf reflect.StructField) rule {
	var r rule
	for part := range strings.SplitSeq(sf.Tag.Get("bind"), ",") {
		name, arg, _ := strings.Cut(part, "=")
		switch name {
		case "":
		case "required":
			r.required = true
		case "secret":
			r.secret = true
		case "min":
			r.min = number(sf, arg)
		case "max":
			r.max = number(sf, arg)
		case "enum":
			r.enum = strings.Split(arg, "|")
		case "types":
			r.types = strings.Split(arg, "|")
		case "default":
			r.def = &arg
		default:
			panic(fmt.Sprintf("BUG: bind: field %s: unknown rule %q", sf.Name, part))
		}
	}
	return r
}

func number(sf reflect.StructField, arg string) *float64 {
	n, err := strconv.ParseFloat(arg, 64)
	if err != nil {
		panic(fmt.Sprintf("BUG: bind: field %s: %v", sf.Name, err))
	}
	return &n
}

// setDefault fills an absent field: the stated default, an empty array or object, or the zero value.
func (r rule) setDefault(dst reflect.Value) {
	switch dst.Kind() {
	case reflect.Slice:
		dst.Set(reflect.MakeSlice(dst.Type(), 0, 0))
		return
	case reflect.Map:
		dst.Set(reflect.MakeMap(dst.Type()))
		return
	default:
	}
	if r.def == nil {
		dst.SetZero()
		return
	}
	switch dst.Kind() {
	case reflect.String:
		dst.SetString(*r.def)
	case reflect.Int, reflect.Int64, reflect.Int32:
		n, err := strconv.ParseInt(*r.def, 10, 64)
		if err != nil {
			panic("BUG: bind: default is not an integer: " + *r.def)
		}
		dst.SetInt(n)
	case reflect.Float64:
		n, err := strconv.ParseFloat(*r.def, 64)
		if err != nil {
			panic("BUG: bind: default is not a number: " + *r.def)
		}
		dst.SetFloat(n)
	case reflect.Bool:
		dst.SetBool(*r.def == "true")
	default:
		panic("BUG: bind: no default for a field of kind " + dst.Kind().String())
	}
}

// expected lists the allowed values as pydantic does: 'a', 'b' or 'c'.
func (r rule) expected() string {
	quoted := make([]string, len(r.enum))
	for i, v := range r.enum {
		quoted[i] = "'" + v + "'"
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}
