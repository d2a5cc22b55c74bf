package compare

// switchOver is one way to send the API's path to Bookside.
type switchOver struct {
	proxy string
	where string
	lines string
	back  string
}

// switchAddress is the default address of Bookside, as the samples have it.
const switchAddress = "http://127.0.0.1:8080"

// switches are the lines with which a site moves over, and what takes them back.
var switches = []switchOver{
	{
		"nginx", "with docker/nginx/bookside.conf in conf.d and docker/nginx/bookside-routes.conf in snippets, in the server block of the site:",
		"include snippets/bookside-routes.conf;",
		"Remove that line, then: nginx -s reload",
	},
	{
		"Caddy", "in the block of the site, before its php_fastcgi; docker/Caddyfile is a whole one:",
		"@bookside path /wp-json/latepoint-api/v1 /wp-json/latepoint-api/v1/*\nreverse_proxy @bookside 127.0.0.1:8080",
		"Remove these lines, then: caddy reload --config /etc/caddy/Caddyfile",
	},
	{
		"Apache", "in the VirtualHost of the site, after a2enmod proxy_http:",
		"AllowEncodedSlashes NoDecode\nProxyPass /wp-json/latepoint-api/v1 " + switchAddress + "/wp-json/latepoint-api/v1 nocanon",
		"Remove these lines, then: apachectl graceful",
	},
}

// switchNote holds for all of them.
const switchNote = "Set BOOKSIDE_SERVER__TRUSTED_PROXIES=127.0.0.1, so that Bookside sees the addresses of the clients. " +
	"After the way back, PHP serves the same tables again, with everything that was written through Bookside."
