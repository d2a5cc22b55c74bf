-- Bookside's own tables. All DATETIME values are UTC.

-- Login tokens and sessions of the console, and its submitted forms.
CREATE TABLE bookside_admin_tokens (
	token_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	purpose VARCHAR(10) NOT NULL,
	expires_at DATETIME NOT NULL,
	person VARCHAR(150) NOT NULL DEFAULT '',
	PRIMARY KEY (token_hash),
	KEY expires_at (expires_at)
);

-- API keys, and the secret addresses of calendars, with the number of requests each has made.
CREATE TABLE bookside_api_keys (
	id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
	key_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	key_start VARCHAR(16) NOT NULL,
	last_four VARCHAR(4) NOT NULL,
	name VARCHAR(190) NOT NULL,
	kind VARCHAR(10) NOT NULL,
	permissions VARCHAR(1000) NOT NULL,
	networks VARCHAR(2200) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	status VARCHAR(10) NOT NULL,
	expires_at DATETIME NULL,
	requests_per_minute INT UNSIGNED NULL,
	requests_per_hour INT UNSIGNED NULL,
	agents VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	services VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	locations VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	mask_personal TINYINT UNSIGNED NOT NULL DEFAULT 0,
	details VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	requests BIGINT UNSIGNED NOT NULL DEFAULT 0,
	last_used_at DATETIME NULL,
	created_at DATETIME NOT NULL,
	created_by VARCHAR(190) NOT NULL DEFAULT '',
	PRIMARY KEY (id),
	UNIQUE KEY key_hash (key_hash)
);

-- Changes that have been or are about to be committed and have no number yet. The companion inserts
-- rows too, see adapter/journal/inbox.go.
CREATE TABLE bookside_change_inbox (
	id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
	resource VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	resource_id BIGINT UNSIGNED NOT NULL,
	kind VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	origin VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	actor_id BIGINT UNSIGNED NULL,
	status VARCHAR(190) NULL,
	at DATETIME NOT NULL,
	agent_id BIGINT UNSIGNED NULL,
	service_id BIGINT UNSIGNED NULL,
	location_id BIGINT UNSIGNED NULL,
	customer_id BIGINT UNSIGNED NULL,
	old_agent_id BIGINT UNSIGNED NULL,
	old_service_id BIGINT UNSIGNED NULL,
	old_location_id BIGINT UNSIGNED NULL,
	old_customer_id BIGINT UNSIGNED NULL,
	request_id VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	PRIMARY KEY (id),
	KEY record (resource, resource_id)
);

-- How far the journal and the search for changes have come. The journal's row has the last number, and
-- as floor the last one that was deleted. The search's row has the server that is searching. Rows of
-- resources have the largest id of the start as floor, the id that the first pass has reached, and what
-- is compared. The site's row has a random id as signature, which its fingerprint is made from.
CREATE TABLE bookside_change_positions (
	name VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	position BIGINT UNSIGNED NOT NULL DEFAULT 0,
	floor BIGINT UNSIGNED NOT NULL DEFAULT 0,
	signature CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	owner VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	expires_at DATETIME NULL,
	n BIGINT UNSIGNED NOT NULL DEFAULT 0,
	PRIMARY KEY (name)
);

-- The rows of the site as they were last seen: hashes of 256 consecutive ids per
-- row, see adapter/journal/snapshot.go.
CREATE TABLE bookside_change_snapshots (
	resource VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	span BIGINT UNSIGNED NOT NULL,
	records SMALLINT UNSIGNED NOT NULL,
	checksum BIGINT UNSIGNED NOT NULL,
	content BLOB NOT NULL,
	PRIMARY KEY (resource, span)
);

-- The journal. Entries of bookings have the agent, service, location and customer, for filters; those
-- of moved bookings have the old ones too. Those of requests to the API have the id of the request.
CREATE TABLE bookside_changes (
	number BIGINT UNSIGNED NOT NULL,
	resource VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	resource_id BIGINT UNSIGNED NOT NULL,
	kind VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	origin VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	actor_id BIGINT UNSIGNED NULL,
	at DATETIME NOT NULL,
	old_status VARCHAR(190) NULL,
	new_status VARCHAR(190) NULL,
	agent_id BIGINT UNSIGNED NULL,
	service_id BIGINT UNSIGNED NULL,
	location_id BIGINT UNSIGNED NULL,
	customer_id BIGINT UNSIGNED NULL,
	old_agent_id BIGINT UNSIGNED NULL,
	old_service_id BIGINT UNSIGNED NULL,
	old_location_id BIGINT UNSIGNED NULL,
	old_customer_id BIGINT UNSIGNED NULL,
	request_id VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	PRIMARY KEY (number),
	KEY record (resource, resource_id, number),
	KEY request (request_id, number)
);

-- Binary, so that keys compare with the site's in any collation.
CREATE TABLE bookside_customer_fields (
	meta_key VARBINARY(440) NOT NULL,
	PRIMARY KEY (meta_key)
);

-- What listens to the plugin's hooks, in one row, as the companion found it. The list is JSON, see
-- adapter/extensions.Report.
CREATE TABLE bookside_extensions (
	id TINYINT UNSIGNED NOT NULL,
	reported_at DATETIME NOT NULL,
	plugins MEDIUMTEXT NOT NULL,
	PRIMARY KEY (id)
);

-- What is told to the extensions of the site, see adapter/extensions. The companion reads and changes the
-- rows, so columns and states must keep their meaning.
CREATE TABLE bookside_events (
	id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
	event VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	record_id BIGINT UNSIGNED NOT NULL,
	old MEDIUMTEXT NULL,
	messages VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	sender VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	rendered MEDIUMTEXT NULL,
	rendered_due DATETIME NULL,
	status VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	tries SMALLINT UNSIGNED NOT NULL,
	due_at DATETIME NOT NULL,
	failure VARCHAR(190) NOT NULL,
	created_at DATETIME NOT NULL,
	finished_at DATETIME NULL,
	PRIMARY KEY (id),
	KEY due (status, due_at)
);

-- Slots that are held for customers, see adapter/bookings/holds.go. The companion reads them, so the
-- columns must keep their meaning.
CREATE TABLE bookside_holds (
	id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
	key_id BIGINT UNSIGNED NOT NULL,
	agent_id BIGINT UNSIGNED NOT NULL,
	service_id BIGINT UNSIGNED NOT NULL,
	location_id BIGINT UNSIGNED NOT NULL,
	start_date DATE NOT NULL,
	end_date DATE NOT NULL,
	start_time SMALLINT UNSIGNED NOT NULL,
	end_time SMALLINT UNSIGNED NOT NULL,
	duration SMALLINT UNSIGNED NOT NULL,
	buffer_before INT NOT NULL,
	buffer_after INT NOT NULL,
	total_attendees INT UNSIGNED NOT NULL,
	expires_at DATETIME NOT NULL,
	created_at DATETIME NOT NULL,
	extras VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	PRIMARY KEY (id),
	KEY start_date (start_date, expires_at),
	KEY key_id (key_id, expires_at),
	KEY expires_at (expires_at)
);

-- The responses to a request, one row per item. The row of item 0 is also the claim of the server that
-- processes the request: its status is 0 until there is a response, its owner is empty while no server
-- processes it, and every transaction of the owner increments n.
CREATE TABLE bookside_idempotency (
	id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
	scope CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	item SMALLINT UNSIGNED NOT NULL,
	body_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	status SMALLINT UNSIGNED NOT NULL,
	answer MEDIUMBLOB NOT NULL,
	owner VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	claimed_until DATETIME NULL,
	n INT UNSIGNED NOT NULL DEFAULT 0,
	created_at DATETIME NOT NULL,
	PRIMARY KEY (id),
	UNIQUE KEY scope_item (scope, item),
	KEY created_at (created_at)
);

-- The customers of bookings that limited keys made, as these described them, by the id of the booking: see
-- adapter/records/booking_customer.go.
CREATE TABLE bookside_booking_customers (
	id BIGINT UNSIGNED NOT NULL,
	first_name VARCHAR(255) NOT NULL,
	last_name VARCHAR(255) NOT NULL,
	email VARCHAR(255) NOT NULL,
	phone VARCHAR(255) NOT NULL,
	PRIMARY KEY (id)
);

-- The rows that a transaction locks while it checks and writes, see adapter/session/locks.go. The
-- companion locks the same rows, so kinds and ids must not change.
CREATE TABLE bookside_locks (
	kind TINYINT UNSIGNED NOT NULL,
	id BIGINT UNSIGNED NOT NULL,
	n BIGINT UNSIGNED NOT NULL DEFAULT 0,
	PRIMARY KEY (kind, id)
);

-- The latest requests to the API, see adapter/keys. An entry about requests without a valid key
-- stands for all of a minute with its status; refused is their number, and 0 in other entries.
CREATE TABLE bookside_requests (
	id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
	at DATETIME(3) NOT NULL,
	request_id VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	key_id BIGINT UNSIGNED NOT NULL,
	user_id BIGINT UNSIGNED NOT NULL,
	from_console TINYINT UNSIGNED NOT NULL DEFAULT 0,
	method VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	route VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	record_id BIGINT UNSIGNED NOT NULL,
	tool VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	status SMALLINT UNSIGNED NOT NULL,
	code VARCHAR(60) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	took_us INT UNSIGNED NOT NULL,
	statements INT UNSIGNED NOT NULL,
	fields VARCHAR(1000) NOT NULL,
	refused INT UNSIGNED NOT NULL,
	PRIMARY KEY (id)
);

-- The secret with which the server and WordPress sign their requests to each other, see adapter/extensions.
-- Whichever needs it first creates the row.
CREATE TABLE bookside_secrets (
	name VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	secret CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	created_at DATETIME NOT NULL,
	PRIMARY KEY (name)
);

-- Secrets are stored in plain text unless there is a webhooks.secret_key. Entries of the journal up to
-- position have become deliveries.
CREATE TABLE bookside_webhooks (
	id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
	name VARCHAR(190) NOT NULL,
	url VARCHAR(2000) NOT NULL,
	events VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	agents VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	services VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	locations VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	include_record TINYINT UNSIGNED NOT NULL,
	allow_private TINYINT UNSIGNED NOT NULL,
	key_id BIGINT UNSIGNED NOT NULL,
	secret VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	old_secret VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	old_secret_until DATETIME NULL,
	status VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	reason VARCHAR(190) NOT NULL DEFAULT '',
	failing_since DATETIME NULL,
	position BIGINT UNSIGNED NOT NULL,
	created_at DATETIME NOT NULL,
	PRIMARY KEY (id)
);

-- What is sent to webhooks. The number is that of the entry in the journal, or NULL for a test. While
-- the status is sending, the columns due_at and owner are the claim of the server that is sending.
CREATE TABLE bookside_webhook_deliveries (
	id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
	webhook_id BIGINT UNSIGNED NOT NULL,
	number BIGINT UNSIGNED NULL,
	event VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	resource VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	resource_id BIGINT UNSIGNED NOT NULL,
	at DATETIME NOT NULL,
	data TEXT NOT NULL,
	status VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	tries SMALLINT UNSIGNED NOT NULL,
	due_at DATETIME NOT NULL,
	owner CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
	failure VARCHAR(190) NOT NULL DEFAULT '',
	created_at DATETIME NOT NULL,
	finished_at DATETIME NULL,
	PRIMARY KEY (id),
	UNIQUE KEY entry (webhook_id, number),
	KEY due (webhook_id, status, due_at, number),
	KEY record (webhook_id, resource, resource_id, status, number),
	KEY claim (status, due_at),
	KEY finished (finished_at)
);

-- Each request that was sent to a webhook, and the start of the response.
CREATE TABLE bookside_webhook_tries (
	id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
	webhook_id BIGINT UNSIGNED NOT NULL,
	delivery_id BIGINT UNSIGNED NOT NULL,
	at DATETIME NOT NULL,
	status SMALLINT UNSIGNED NOT NULL,
	took_ms INT UNSIGNED NOT NULL,
	failure VARCHAR(190) NOT NULL,
	answer VARCHAR(500) NOT NULL,
	PRIMARY KEY (id),
	KEY delivery (delivery_id),
	KEY webhook (webhook_id, id),
	KEY at (at)
);
