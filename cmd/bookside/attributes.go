package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/wpdb"
)

// attributeFlags are attributes of a new N as written on the command line. A flag that is not set has no
// text, which differs from an empty text: an unset shell variable must not change anything.
type attributeFlags[S, N any] struct {
	attributes []keys.Attribute[S, N]
	texts      map[string]string // by name
}

// defineAttributes defines the flags of attributes.
func defineAttributes[S, N any](flags *pflag.FlagSet, attributes []keys.Attribute[S, N]) attributeFlags[S, N] {
	f := attributeFlags[S, N]{attributes, map[string]string{}}
	for _, a := range attributes {
		define := flags.Func
		switch {
		case a.Usage == "":
			continue
		case a.Box:
			define = flags.BoolFunc
		}
		define(flagOf(a), a.Usage, func(text string) (err error) {
			f.texts[a.Name] = text
			if a.Box {
				_, err = keys.ParseBox(text)
			}
			return err
		})
	}
	return f
}

func flagOf[S, N any](a keys.Attribute[S, N]) string { return strings.ReplaceAll(a.Name, "_", "-") }

// attributesWithout returns those attributes whose names none of the others has.
func attributesWithout[S, N any](attributes, others []keys.Attribute[S, N]) []keys.Attribute[S, N] {
	return slices.DeleteFunc(slices.Clone(attributes), func(a keys.Attribute[S, N]) bool {
		return slices.ContainsFunc(others, func(o keys.Attribute[S, N]) bool { return o.Name == a.Name })
	})
}

// only returns the flags of some attributes, and an error with the reason if others are set.
func (f attributeFlags[S, N]) only(attributes []keys.Attribute[S, N], reason string) (attributeFlags[S, N], error) {
	var failed error
	for _, a := range attributesWithout(f.attributes, attributes) {
		if _, set := f.texts[a.Name]; set {
			failed = alsoWrong(failed, "--%s: %s", flagOf(a), reason)
		}
	}
	return attributeFlags[S, N]{attributes, f.texts}, failed
}

// setOr sets the text of an attribute if its flag is not set.
func (f attributeFlags[S, N]) setOr(name, text string) {
	if _, set := f.texts[name]; !set {
		f.texts[name] = text
	}
}

// names returns the names of the attributes that are set.
func (f attributeFlags[S, N]) names() []string { return slices.Sorted(maps.Keys(f.texts)) }

// parse stores the attributes that are set in n, and adds what is wrong with them to failed. Agents,
// services and locations are only checked: resolveChoices parses them.
func (f attributeFlags[S, N]) parse(failed error, now time.Time, n *N) error {
	for _, a := range f.attributes {
		text, set := f.texts[a.Name]
		if !set {
			continue
		}
		var err error
		if a.Of != "" {
			err = a.CheckChoices(text)
		} else {
			err = a.Parse(text, now, n)
		}
		if err != nil {
			failed = alsoWrong(failed, "--%s: %v", flagOf(a), err)
		}
	}
	return failed
}

// resolveChoices stores in n the ids of the agents, services and locations that the flags name, by ids or names. They must
// exist.
func (f attributeFlags[S, N]) resolveChoices(ctx context.Context, p *program, db *wpdb.DB, n *N) (failed error) {
	var site *session.Session
	var unknown []string
	for _, a := range f.attributes {
		text, set := f.texts[a.Name]
		if a.Of == "" || !set {
			continue
		}
		if site == nil {
			var err error
			if site, err = session.NewPlatform(db, p.now).Session(ctx); err != nil {
				return err
			}
		}
		numbers, err := slots.Numbers(ctx, site, a.Of, text)
		if _, ok := errors.AsType[*slots.ChoiceError](err); ok {
			unknown = append(unknown, fmt.Sprintf("--%s: %v", flagOf(a), err))
			continue
		}
		if err != nil {
			return err
		}
		if err := a.Parse(numbers, p.now(), n); err != nil {
			failed = alsoWrong(failed, "--%s: %v", flagOf(a), err)
		}
	}
	if len(unknown) > 0 {
		return exit.Errorf(exit.Failure, nil, "%s", strings.Join(unknown, "; "))
	}
	return failed
}

// labels returns the names of agents, services and locations, if any are needed.
func (p *program) labels(ctx context.Context, db *wpdb.DB, needed bool) (slots.Labels, error) {
	if !needed {
		return nil, nil
	}
	site, err := session.NewPlatform(db, p.now).Session(ctx)
	if err != nil {
		return nil, err
	}
	return slots.LoadLabels(ctx, site)
}
