package compat

import "bookside/adapter/extensions"

// Site is what GET /site tells. It is not part of the contract.
type Site struct {
	Extensions []SiteExtension `json:"extensions"`
}

// SiteExtension is an extension of the plugin that is active on the site.
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

// SiteDetail tells the extensions of a site.
func SiteDetail(active []extensions.Active) StatusSingle[Site] {
	return statusSingle(Site{Extensions: ExtensionRecords(active)})
}

// ExtensionRecords are those of extensions, in their order.
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
