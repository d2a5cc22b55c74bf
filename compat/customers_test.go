package compat

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/records"
)

func TestCustomerBodies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body  string
		want  customers.Patch   // for a change
		wrong map[string]string // for a change
		user  *int64            // for a new customer
		as    string
	}{
		"nothing": {body: `{}`, want: customers.Patch{}},
		"nulls": {
			body:  `{"first_name":null,"status":null,"is_guest":null,"avatar_image_id":null,"city":null,"country":null,"custom_fields":null,"cms_user_id":null}`,
			want:  customers.Patch{AvatarImageID: new(int64(0)), Profile: map[string]string{"city": "", "country": ""}},
			wrong: map[string]string{"custom_fields": "May not be empty", "first_name": "May not be empty", "is_guest": "May not be empty", "status": "May not be empty"},
		},
		"texts": {
			body: `{"first_name":" A ","last_name":5,"email":"","phone":" ","notes":"a\n","admin_notes":"","cms_user_id":0,"wordpress_user_id":"7"}`,
			want: customers.Patch{
				CustomerFields: records.CustomerFields{FirstName: new(" A "), LastName: new("5"), Email: new(""), Phone: new(" ")},
				Notes:          new("a\n"), AdminNotes: new(""),
			},
			user: new(int64(7)), as: "wordpress_user_id",
		},
		"the platform's name first": {body: `{"cms_user_id":7,"wordpress_user_id":8}`, want: customers.Patch{}, user: new(int64(7)), as: "cms_user_id"},
		"a profile": {
			body: `{"address":"A","city":"","state":1,"zipcode":"0","country":" de ","date_of_birth":"2000-02-29","gender":"FEMALE","status":"Blocked","is_guest":"off","avatar_image_id":0}`,
			want: customers.Patch{
				Status: new("blocked"), IsGuest: new(false), AvatarImageID: new(int64(0)),
				Profile: map[string]string{"address": "A", "city": "", "state": "1", "zipcode": "0", "country": "DE", "date_of_birth": "2000-02-29", "gender": "female"},
			},
		},
		"removed": {
			body: `{"country":"","date_of_birth":" ","gender":""}`,
			want: customers.Patch{Profile: map[string]string{"country": "", "date_of_birth": "", "gender": ""}},
		},
		"custom fields": {
			body: `{"custom_fields":{"a":"x","b":1.50,"c":true,"d":false,"e":null,"f":"","g":0},"custom_fields.h":" y "}`,
			want: customers.Patch{
				CustomFields: map[string]string{"a": "x", "b": "1.50", "c": "1", "d": "0", "e": "", "f": "", "g": "0", "h": " y "},
			},
		},
		"an empty list of PHP": {body: `{"custom_fields":[]}`, want: customers.Patch{CustomFields: map[string]string{}}},
	} {
		t.Run(name, func(t *testing.T) {
			ignore := cmpopts.IgnoreFields(customers.Patch{}, "Validation")
			patch := CustomerPatchFields.Read(bodyOf(t, c.body))
			if diff := cmp.Diff(c.want, patch, ignore); diff != "" {
				t.Errorf("%s, change (-want +got):\n%s", name, diff)
			}
			c.want.WordPressUserID, c.want.UserField = c.user, c.as
			created := NewCustomerFields.Read(bodyOf(t, c.body))
			if diff := cmp.Diff(c.want, created, ignore); diff != "" {
				t.Errorf("%s, new (-want +got):\n%s", name, diff)
			}
			if _, fields := errorFields(t, patch.Err()); !maps.Equal(c.wrong, fields) {
				t.Errorf("%s, change: wrong are %v", name, fields)
			}
			missing := map[string]string{}
			for _, field := range []string{"first_name", "last_name"} {
				if !bodyOf(t, c.body).present(field) {
					missing[field] = "Required"
				}
			}
			if _, fields := errorFields(t, created.Err()); len(missing)+len(fields) > 0 && !maps.Equal(missing, fields) {
				t.Errorf("%s, new: wrong are %v", name, fields)
			}
		})
	}
}

// TestPendingCustomer: pending is a word for new customers only.
func TestPendingCustomer(t *testing.T) {
	t.Parallel()
	created := NewCustomerFields.Read(bodyOf(t, `{"first_name":"A","last_name":"B","status":" Pending "}`))
	if err := created.Err(); err != nil || created.Status == nil || *created.Status != "pending_verification" {
		t.Errorf("new: %v, %v", created.Status, err)
	}
	patch := CustomerPatchFields.Read(bodyOf(t, `{"status":"pending"}`))
	if _, fields := errorFields(t, patch.Err()); fields["status"] != customerStatusWords || patch.Status != nil {
		t.Errorf("change: %v, %v", patch.Status, fields)
	}
}

func TestCountry(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"gb": "GB", "DE": "DE", "Fr": "FR",
		"UK": "!" + notACountry + "; did you mean GB?", "uk": "!" + notACountry + "; did you mean GB?",
		"ZZ": "!" + notACountry, "XX": "!" + notACountry, "EU": "!" + notACountry, "USA": "!" + notACountry, "F%20R": "!" + notACountry,
	} {
		t.Run(sent, func(t *testing.T) {
			q := ParseQuery("country=" + sent)
			code, _ := country.read(q, "country")
			if message := q.wrong["country"]; message != "" {
				code += "!" + message
			}
			if code != want {
				t.Errorf("%q, want %q", code, want)
			}
		})
	}
}
