package handlers

// RouteInfo describes a route to the tests.
type RouteInfo struct {
	Method, Path, Permission, Summary string
	List                              bool
	Also                              []string // permissions that some requests need in addition
	PathParameters                    []string // named by the operation
	DryRun                            string   // the permission that a dry run needs too; "" if the route has none
}

// Routes returns the routes of the API in the order of the table. Their paths are
// relative to a base path and mark parameters with a colon.
func Routes() []RouteInfo {
	infos := make([]RouteInfo, len(routes))
	for i, r := range routes {
		infos[i] = RouteInfo{Method: r.method, Path: r.path, Permission: r.permission, Summary: r.operation.summary, List: r.operation.errors.List}
		for _, p := range r.operation.path {
			infos[i].PathParameters = append(infos[i].PathParameters, p.name)
		}
		for _, a := range r.operation.extraPermissions {
			infos[i].Also = append(infos[i].Also, a.permission)
		}
		if r.allowsDryRun() {
			infos[i].DryRun = r.readPermission()
		}
	}
	return infos
}

// Samples returns samples of all responses that are JSON.
func Samples() (all []any) {
	for _, r := range routes {
		all = append(all, r.samples()...)
	}
	return all
}
