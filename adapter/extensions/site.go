package extensions

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Site is what is known about a site's extensions.
type Site struct {
	Plugins  []string          // the files of the active plugins, such as latepoint-zoom/latepoint-zoom.php
	AddOns   []string          // the ids in LatePoint's own list
	Settings map[string]string // of LatePoint, by name; see Settings
	Versions map[string]string // of the tables of add-ons, by id
	Events   []string          // that the companion tells extensions about, such as booking_created
	Unread   []string          // what has tables that cannot be seen: ids of calendars, and settings of parts
	Reports  []Report          // of the companion; none without one

	AsksWordPress bool // about the decisions of listeners that it can be asked about
}

// Report is what the companion found about a loaded plugin: an add-on of LatePoint, or a plugin that
// listens to it.
type Report struct {
	Plugin    string     `json:"plugin"` // its folder, or its file if it has none; theme/FOLDER, mu-plugins/FILE or elsewhere for other code
	Title     string     `json:"title"`
	Listeners []Listener `json:"listeners"`
}

// Listener is a function hooked into LatePoint.
type Listener struct {
	Hook     string `json:"hook"`
	Callback string `json:"callback"`
	Priority int64  `json:"priority"`
}

// Active is an extension that is active on a site.
type Active struct {
	ID      string
	Title   string
	Version string // of its tables; empty if it is not known
	Parts   []Part // those that are switched on, at least one; those not honoured come first
	// Listeners are the listeners that the companion found.
	Listeners []Listener
}

// Kind returns the worst kind among the extension's parts.
func (a Active) Kind() Kind { return a.Parts[0].Kind }

// NotHonoured returns how many parts are not honoured.
func (a Active) NotHonoured() (n int) {
	for _, part := range a.Parts {
		if part.Kind == NotHonoured {
			n++
		}
	}
	return n
}

// Decides reports whether a part that is not honoured affects how a request is answered.
func (a Active) Decides() bool {
	return slices.ContainsFunc(a.Parts, func(p Part) bool { return p.Kind == NotHonoured && p.Subject.Decides() })
}

// Ignored returns the extensions with parts that are not honoured.
func Ignored(all []Active) []Active {
	return slices.DeleteFunc(slices.Clone(all), func(a Active) bool { return a.Kind() != NotHonoured })
}

// Titles joins the titles of extensions.
func Titles(all []Active) string {
	titles := make([]string, len(all))
	for i, a := range all {
		titles[i] = a.Title
	}
	return strings.Join(titles, ", ")
}

// worst is the order of kinds; the first matters most to a site's owner.
var worst = []Kind{NotHonoured, AskedFor, RunAfterwards, Understood, TakesNoPart}

func byKind(a, b Kind) int { return slices.Index(worst, a) - slices.Index(worst, b) }

// Settings returns the names of LatePoint's settings that switch parts of extensions.
func Settings() (names []string) {
	for _, e := range Catalogue {
		for _, part := range e.Parts {
			if part.Setting != "" && !slices.Contains(names, part.Setting) {
				names = append(names, part.Setting)
			}
		}
	}
	return names
}

// Find returns the extension with an id.
func Find(id string) (found Extension, known bool) {
	i := slices.IndexFunc(Catalogue, func(e Extension) bool {
		matches, _ := path.Match(e.ID, id) // no pattern is malformed, see TestCatalogue
		return matches
	})
	if i < 0 {
		return Extension{}, false
	}
	return Catalogue[i], true
}

// Active returns the site's extensions, first those with parts that are not honoured. An extension that is
// not in the catalogue is judged by its listeners; an add-on of LatePoint whose listeners cannot be known
// may do anything.
func (s Site) Active() []Active {
	var all []Active
	add := func(id, plugin string, active Active) {
		if slices.ContainsFunc(all, func(a Active) bool { return a.ID == id }) || len(active.Parts) == 0 {
			return
		}
		active.ID, active.Title = id, cmp.Or(active.Title, id)
		if r, told := s.report(plugin); told {
			active.Listeners = r.Listeners
		}
		slices.SortStableFunc(active.Parts, func(a, b Part) int { return byKind(a.Kind, b.Kind) })
		all = append(all, active)
	}
	for _, id := range s.AddOns {
		if e, known := Find(id); known {
			add(id, id, s.known(id, id, e))
		} else {
			add(id, id, s.judgedByListeners(id))
		}
	}
	for _, file := range s.Plugins {
		name := strings.TrimSuffix(path.Base(file), ".php")
		folder := cmp.Or(strings.TrimSuffix(path.Dir(file), "."), path.Base(file))
		switch e, known := Find(name); {
		case name == "latepoint" || name == "bookside":
		case known:
			add(name, folder, s.known(name, folder, e))
		default:
			add(folder, folder, s.judgedByListeners(folder))
		}
	}
	for _, r := range s.Reports {
		if strings.HasPrefix(r.Plugin, "theme/") || strings.HasPrefix(r.Plugin, "mu-plugins/") || r.Plugin == "elsewhere" {
			add(r.Plugin, r.Plugin, s.judgedByListeners(r.Plugin))
		}
	}
	slices.SortStableFunc(all, func(a, b Active) int {
		return cmp.Or(byKind(a.Kind(), b.Kind()), strings.Compare(a.Title, b.Title))
	})
	return all
}

// known returns an extension of the catalogue, with the parts that are turned on. Parts about acceptance
// that the catalogue marks as not honoured are not asked: they are rules of forms.
func (s Site) known(id, plugin string, e Extension) Active {
	a := Active{Title: e.Title, Version: s.Versions[id]}
	asked := s.askedSubjects(plugin)
	for _, part := range e.Parts {
		if part.Kind == NotHonoured && part.Subject != Acceptance && asked[part.Subject] {
			part.Kind, part.Means = AskedFor, askedMeans[part.Subject]
			if slices.ContainsFunc(a.Parts, func(p Part) bool { return p.Kind == AskedFor && p.Subject == part.Subject }) {
				continue
			}
		}
		switch {
		case part.Setting != "" && s.Settings[part.Setting] != "on":
			continue
		case part.Subject == Times && slices.Contains(s.Unread, id):
			part = unread
		case part.Kind == RunAfterwards && part.Subject == Messages:
			if !s.sendsMessages() {
				part = Part{Messages, NotHonoured, part.Setting, "Messages about bookings by the API are made without it: that takes the companion."}
			}
		case slices.Contains(s.Unread, part.Setting):
			part = Part{part.Subject, NotHonoured, part.Setting, "Rooms and devices that are taken do not close a time: the add-on has no tables that the database user may read; see bookside check --grants."}
		case part.Kind == RunAfterwards && len(s.Events) == 0:
			part = Part{part.Subject, NotHonoured, part.Setting, "Nothing tells it about bookings by the API: that takes the companion."}
		case part.Subject == Times && id == GoogleCalendar && a.Version == "":
			part.Means += " Its version is not known: the rules of the newest one apply."
		}
		a.Parts = append(a.Parts, part)
	}
	if len(a.Parts) == 0 {
		a.Parts = []Part{{Subject: Pages, Kind: TakesNoPart, Means: "It is switched off."}}
	}
	return a
}

// askedSubjects returns the subjects that WordPress is asked about because of a plugin.
func (s Site) askedSubjects(plugin string) map[Subject]bool {
	reported, _ := s.report(plugin)
	subjects := map[Subject]bool{}
	for _, l := range reported.Listeners {
		if s.asksAbout(l.Hook) {
			subjects[hooks[l.Hook]] = true
		}
	}
	return subjects
}

// asksAbout reports whether WordPress is asked about the decisions of a hook's listeners.
func (s Site) asksAbout(hook string) bool { return s.AsksWordPress && askableHook(hook) }

// report returns what the companion found about a plugin.
func (s Site) report(plugin string) (found Report, told bool) {
	i := slices.IndexFunc(s.Reports, func(r Report) bool { return r.Plugin == plugin })
	if i < 0 {
		return Report{}, false
	}
	return s.Reports[i], true
}

// judgedByListeners returns a plugin that is not in the catalogue. Each of its listeners is told about what has happened, or
// WordPress is asked about its decisions, or it is ignored: then its subject is not honoured. The plugin has no parts if it
// does not concern LatePoint.
func (s Site) judgedByListeners(plugin string) Active {
	reported, found := s.report(plugin)
	a := Active{Title: reported.Title}
	told, ignored := false, map[Subject]bool{}
	for _, l := range reported.Listeners {
		switch {
		case s.tells(l.Hook):
			told = true
		case !s.asksAbout(l.Hook):
			ignored[hooks[l.Hook]] = true
		}
	}
	if told {
		a.Parts = append(a.Parts, Part{Reactions, RunAfterwards, "", "It is told about bookings by the API right after they are stored."})
	}
	if ignored[Messages] && s.sendsMessages() {
		a.Parts = append(a.Parts, Part{Messages, RunAfterwards, "", "It adds to messages: LatePoint itself sends those about bookings by the API."})
		delete(ignored, Messages)
	}
	for _, part := range ignoredParts {
		if ignored[part.Subject] {
			a.Parts = append(a.Parts, part)
		}
	}
	asked := s.askedSubjects(plugin)
	for _, subject := range []Subject{Times, Prices, Acceptance} {
		if asked[subject] {
			a.Parts = append(a.Parts, Part{Subject: subject, Kind: AskedFor, Means: askedMeans[subject]})
		}
	}
	if len(a.Parts) == 0 && strings.HasPrefix(plugin, "latepoint-") { // an add-on of LatePoint always concerns it
		part := unknown
		if found {
			part = Part{Subject: Pages, Kind: TakesNoPart, Means: "It changes nothing of bookings."}
		}
		a.Parts = append(a.Parts, part)
	}
	return a
}

// tells reports whether the companion fires an action after changes by the API.
func (s Site) tells(hook string) bool {
	event := strings.TrimPrefix(hook, "latepoint_")
	if event == "booking_change_status" {
		event = "booking_updated"
	}
	return slices.Contains(s.Events, event)
}

// EventMessages is listed among the events if the plugin sends messages about what the API changes itself, because something is added to
// it.
const EventMessages = "messages"

func (s Site) sendsMessages() bool { return slices.Contains(s.Events, EventMessages) }

// ignoredParts are by subject the parts of a plugin that is not in the catalogue and whose listeners are ignored.
var ignoredParts = []Part{
	{Times, NotHonoured, "", "It changes which times are offered: the API offers those of LatePoint itself."},
	{Prices, NotHonoured, "", "It changes prices: bookings by the API have the service's own price."},
	{Acceptance, NotHonoured, "", "It may refuse bookings on the site: the API accepts them."},
	{Records, NotHonoured, "", "It changes what is stored with a booking: bookings by the API lack that."},
	{Messages, NotHonoured, "", "It adds to messages: those about bookings by the API lack that."},
	{Reactions, NotHonoured, "", "It learns of bookings made on the site: of those by the API it learns nothing."},
}

// askedMeans says by subject what asking WordPress means.
var askedMeans = map[Subject]string{
	Times:      "It changes which times are offered: WordPress is asked for them.",
	Prices:     "It changes prices: WordPress is asked what a booking costs.",
	Acceptance: "It may refuse bookings: WordPress is asked before one is made or moved.",
}

// Asked has the titles of the extensions that WordPress is asked about, by subject.
type Asked map[Subject][]string

// AskedOf returns which active extensions WordPress is asked about, by subject.
func AskedOf(active []Active) Asked {
	asked := Asked{}
	for _, a := range active {
		for _, part := range a.Parts {
			if part.Kind == AskedFor {
				asked[part.Subject] = append(asked[part.Subject], a.Title)
			}
		}
	}
	return asked
}

// Told reports whether something is run afterwards, for which the companion is needed.
func Told(active []Active) bool {
	return slices.ContainsFunc(active, func(a Active) bool {
		return slices.ContainsFunc(a.Parts, func(p Part) bool { return p.Kind == RunAfterwards })
	})
}

// unread stands for a calendar whose events cannot be read.
var unread = Part{Times, NotHonoured, "", "Appointments in agents' own calendars do not block times: the add-on has no tables that the database user may read; see bookside check --grants."}

// unknown is an add-on of LatePoint about which nothing is known.
var unknown = Part{Acceptance, NotHonoured, "", "It is unknown and may decide about times, prices and bookings: the API does without it."}
