package console

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/facts"
)

func (f *keyForm) facts() facts.Form {
	form := facts.FormOf(&f.Form, f.attributes())
	i := slices.IndexFunc(form.Fields, func(field facts.Field) bool { return field.Name == permissionsField })
	field := &form.Fields[i]
	field.Type, field.Presets, field.Verbs, field.Rows = permissionsField, keys.Presets, keys.PermissionVerbs, f.rows()
	return form
}

// facts returns all keys, those in use first.
func (l keyList) facts() facts.List[facts.Key] {
	list := []facts.Key{}
	for _, r := range slices.Concat(l.Active, l.Inactive) {
		key := facts.Key{
			ID: r.ID, Name: r.Name, Kind: r.Kind, Key: r.maskedSecret(), Status: r.Status, Permissions: r.Permissions, Networks: []string{}, MaskPersonal: r.MaskPersonal,
			PerMinute: r.Key.PerMinute, PerHour: r.Key.PerHour, ExpiresAt: r.ExpiresAt, LastUsedAt: r.LastUsedAt, Scope: facts.ScopeOf(r.Scope, r.Labels),
		}
		for _, network := range r.Networks {
			key.Networks = append(key.Networks, keys.FormatNetwork(network))
		}
		list = append(list, key)
	}
	return facts.List[facts.Key]{"keys": list}
}

// listedOverlaps is how many pairs WordPress lists.
const listedOverlaps = 100

// listOverlaps answers with the overlapping bookings from today on.
func (c *Console) listOverlaps(v *visit) error {
	site, err := v.Platform.Session(v.ctx())
	if err != nil {
		return err
	}
	report, err := slots.FindConflicts(v.ctx(), site)
	if err != nil {
		return err
	}
	pairs := report.Conflicts[:min(len(report.Conflicts), listedOverlaps)]
	list := facts.Overlaps{Overlaps: []facts.Overlap{}, More: report.Cut || len(pairs) < len(report.Conflicts)}
	var bookings map[int64]slots.ConflictingBooking
	if len(pairs) > 0 {
		if bookings, err = slots.ConflictingBookings(v.ctx(), site, pairs); err != nil {
			return err
		}
	}
	booking := func(id int64) facts.OverlappingBooking {
		b := bookings[id]
		return facts.OverlappingBooking{ID: id, Code: b.Code, Service: b.Service, Customer: b.Customer, Date: b.Date, Start: b.Start, End: b.End}
	}
	for _, pair := range pairs {
		list.Overlaps = append(list.Overlaps, facts.Overlap{
			Agent: cmp.Or(report.Assets[pair.Asset], bookings[pair.First].Agent), BuffersOnly: pair.BuffersOnly, Bookings: [2]facts.OverlappingBooking{booking(pair.First), booking(pair.Second)},
		})
	}
	v.send(http.StatusOK, list)
	return nil
}
