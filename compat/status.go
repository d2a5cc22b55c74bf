package compat

import (
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
)

// Status is the body of GET /status.
type Status struct {
	Timezone    string `json:"timezone"`
	CurrentTime string `json:"current_time"`
}

// StatusDetail returns the site's zone and its present time.
func StatusDetail(zone session.Zone, now time.Time) StatusSingle[Status] {
	return statusSingle(Status{Timezone: zone.Name, CurrentTime: now.In(zone.Location).Format(domain.OffsetLayout)})
}
