package compare

// switchOver is one way to route the API's path to Bookside.
type switchOver struct {
	proxy string
	where string
	lines string
	back  string
}

// switches are the lines that move a site over, and what reverts them.
var switches = []switchOver{
	{
		"nginx", "with docker/nginx/bookside.conf in conf.d and docker/nginx/bookside-routes.conf in snippets, in the server block of the site:",
		"include snippets/bookside-routes.conf;",
		"Remove that line, then: nginx -s reload",
	},
	{
		"Caddy", "with docker/caddy/bookside-routes.caddy and bookside-log.caddy beside the Caddyfile, the first line in the block of the site and the second, which keeps keys out of the logs, in the global options:",
		"import bookside-routes.caddy\nimport bookside-log.caddy",
		"Remove the first line, then: caddy reload --config /etc/caddy/Caddyfile",
	},
	{
		"Apache", "with docker/apache/bookside.conf beside the formats of logs and docker/apache/bookside-routes.conf, in the VirtualHost of the site:",
		"Include bookside-routes.conf",
		"Remove that line, then: apachectl graceful",
	},
}

// switchNote applies to all of them.
const switchNote = "Set BOOKSIDE_SERVER__TRUSTED_PROXIES=127.0.0.1, so that Bookside sees the addresses of the clients. " +
	"After the way back, PHP serves the same tables again, with everything that was written through Bookside."
