package conf

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// FileBytesMax bounds a configuration file.
const FileBytesMax = 4 << 20

// Options says where values come from.
type Options struct {
	Name      string                      // of the binary, for -help
	EnvPrefix string                      // "MODELGATE_DATAPLANE"
	Args      []string                    // without the program name
	Lookup    func(string) (string, bool) // of environment variables; nil means os.LookupEnv
	Usage     string                      // printed above the flags by -help
	Out       io.Writer                   // for -help; nil means standard error
}

// Load fills the struct that cfg points to and returns the arguments after the flags. It returns [flag.ErrHelp] after
// printing the help that was asked for.
func Load(cfg any, o Options) (rest []string, err error) {
	if o.Lookup == nil {
		o.Lookup = os.LookupEnv
	}
	if o.Out == nil {
		o.Out = os.Stderr
	}
	fields, err := describe(cfg, o.EnvPrefix)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		if f.def != "" {
			if err := f.set(f.def); err != nil {
				return nil, fmt.Errorf("default of %s: %w", f.name, err)
			}
		}
	}
	flags := flag.NewFlagSet(o.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	file := flags.String("config", "", "")
	given := make(map[string]string)
	for _, f := range fields {
		flags.Func(f.name, "", func(s string) error {
			given[f.name] = s
			return nil
		})
	}
	if err := flags.Parse(o.Args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			help(o, fields)
		}
		return nil, err
	}
	if *file != "" {
		if err := readFile(*file, cfg); err != nil {
			return nil, err
		}
	}
	for _, f := range fields {
		if s, ok := o.Lookup(f.env); ok {
			if err := f.set(s); err != nil {
				return nil, fmt.Errorf("environment %s: %w", f.env, err)
			}
		}
		if s, ok := given[f.name]; ok {
			if err := f.set(s); err != nil {
				return nil, fmt.Errorf("flag -%s: %w", f.name, err)
			}
		}
	}
	return flags.Args(), nil
}

func readFile(path string, cfg any) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	if info.Size() > FileBytesMax {
		return fmt.Errorf("read configuration: %s has %d bytes, at most %d are read", path, info.Size(), FileBytesMax)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	if err := yaml.UnmarshalWithOptions(text, cfg, yaml.Strict()); err != nil {
		return fmt.Errorf("read configuration %s: %w", path, err)
	}
	return nil
}

// field is one setting that a flag and a variable can set.
type field struct {
	name, env, help, def string
	value                reflect.Value
}

func describe(cfg any, prefix string) ([]field, error) {
	v := reflect.ValueOf(cfg)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("describe configuration: want a pointer to a struct, have %T", cfg)
	}
	v = v.Elem()
	var fields []field
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		name := sf.Tag.Get("conf")
		if name == "" || !settable(v.Field(i)) {
			continue
		}
		if yamlName, _, _ := strings.Cut(sf.Tag.Get("yaml"), ","); yamlName != name {
			return nil, fmt.Errorf("describe configuration: field %s: yaml name %q differs from conf name %q", sf.Name, yamlName, name)
		}
		fields = append(fields, field{
			name: strings.ReplaceAll(name, "_", "-"), env: prefix + "_" + strings.ToUpper(name),
			help: sf.Tag.Get("help"), def: sf.Tag.Get("default"), value: v.Field(i),
		})
	}
	return fields, nil
}

func settable(v reflect.Value) bool {
	if _, ok := v.Interface().(Secret); ok {
		return true
	}
	switch v.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		return true
	default:
		return false
	}
}

func (f field) set(s string) error {
	switch f.value.Interface().(type) {
	case Secret:
		f.value.Set(reflect.ValueOf(NewSecret(s)))
		return nil
	case time.Duration:
		d, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("%q is not a duration such as 10s or 5m", s)
		}
		f.value.SetInt(int64(d))
		return nil
	}
	switch f.value.Kind() {
	case reflect.String:
		f.value.SetString(s)
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return fmt.Errorf("%q is not true or false", s)
		}
		f.value.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", s)
		}
		f.value.SetInt(n)
	case reflect.Float64:
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", s)
		}
		f.value.SetFloat(n)
	default:
		panic("BUG: conf: no way to set a field of kind " + f.value.Kind().String())
	}
	return nil
}

func help(o Options, fields []field) {
	w := o.Out
	fmt.Fprintf(w, "%s\n\nSettings: defaults < file < environment < flags.\n\n  -config FILE\n    \tread settings from a YAML file\n", strings.TrimSpace(o.Usage))
	for _, f := range fields {
		def := ""
		if f.def != "" {
			def = " (default " + f.def + ")"
		}
		fmt.Fprintf(w, "  -%s VALUE   %s\n    \t%s%s\n", f.name, f.env, f.help, def)
	}
}
