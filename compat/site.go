package compat

import "github.com/bookside/bookside/adapter/extensions"

// Site is the body of GET /site. It is not part of the contract.
type Site struct {
	Extensions []SiteExtension `json:"extensions"`
}

// SiteExtension is an active extension of the site.
type SiteExtension struct {
	ID      string              `json:"id"`
	Title   string              `json:"title"`
	Version string              `json:"version"`
	Kind    string              `json:"kind"`
	Parts   []SiteExtensionPart `json:"parts"`
}

// SiteExtensionPart is one thing that an extension does.
type SiteExtensionPart struct {
	Subject string `json:"subject"`
	Kind    string `json:"kind"`
	Means   string `json:"means"`
}

// SiteDetail returns the extensions of a site.
func SiteDetail(active []extensions.Active) StatusSingle[Site] {
	return statusSingle(Site{Extensions: ExtensionRecords(active)})
}

// ExtensionRecords returns the records of extensions, in the same order.
func ExtensionRecords(active []extensions.Active) []SiteExtension {
	records := make([]SiteExtension, len(active))
	for i, e := range active {
		records[i] = SiteExtension{ID: e.ID, Title: e.Title, Version: e.Version, Kind: string(e.Kind())}
		for _, part := range e.Parts {
			records[i].Parts = append(records[i].Parts, SiteExtensionPart{string(part.Subject), string(part.Kind), part.Means})
		}
	}
	return records
}
