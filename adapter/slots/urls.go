package slots

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Address returns the address of the site's WordPress, without a trailing slash; "" if the site does not
// know it.
func Address(ctx context.Context, s *session.Session) (string, error) {
	options, err := s.DB.OptionValues(ctx, "siteurl")
	return strings.TrimRight(wpdb.PlainText(options["siteurl"]), "/"), err
}

// Home returns the address of the site's pages, below which WordPress serves its REST API.
func Home(ctx context.Context, s *session.Session) (string, error) {
	options, err := s.DB.OptionValues(ctx, "home", "siteurl")
	return strings.TrimRight(cmp.Or(wpdb.PlainText(options["home"]), wpdb.PlainText(options["siteurl"])), "/"), err
}

// BookingURL returns the page of the plugin's administration that shows a booking, given the site's
// address.
func BookingURL(address string, id int64) string {
	return fmt.Sprintf("%s&filter%%5Bid%%5D=%d", AdminURL(address, "bookings__index", 0), id)
}

// AdminURL returns a page of the plugin's administration by its route, such as agents__edit_form, given the site's
// address; id names the record that it shows, or is 0.
func AdminURL(address, route string, id int64) string {
	url := address + "/wp-admin/admin.php?page=latepoint&route_name=" + route
	if id != 0 {
		url += "&id=" + strconv.FormatInt(id, 10)
	}
	return url
}
