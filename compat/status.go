package compat

import (
	"time"

	"bookside/adapter/domain"
	"bookside/adapter/session"
)

// Status is what GET /status tells.
type Status struct {
	Timezone    string `json:"timezone"`
	CurrentTime string `json:"current_time"`
}

// StatusDetail is the site's zone and its present time there.
func StatusDetail(zone session.Zone, now time.Time) StatusSingle[Status] {
	return statusSingle(Status{Timezone: zone.Name, CurrentTime: now.In(zone.Location).Format(domain.OffsetLayout)})
}
