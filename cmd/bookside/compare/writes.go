package compare

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bookside/bookside/adapter/rowdiff"
	"github.com/bookside/bookside/wpdb"
)

// Writes is what requests left in the two copies.
type Writes struct {
	Requests []WriteResult `json:"requests"`
	Skipped  []string      `json:"skipped_tables"` // not comparable
}

// WriteResult is the result of one request of the scenario.
type WriteResult struct {
	Request  string           `json:"request"`
	PHP      int              `json:"php_status"`
	Bookside int              `json:"bookside_status"`
	Error    string           `json:"error,omitempty"` // code of Bookside's error
	Tables   []rowdiff.Counts `json:"tables"`
	Answer   []Finding        `json:"answer"` // how the responses differ
	Rows     []RowFinding     `json:"rows"`
	Outcome  Outcome          `json:"outcome"`
}

// RowFinding is a row, or a value in it, that differs between the copies. Personal data are masked.
type RowFinding struct {
	Kind   string `json:"kind"`
	Table  string `json:"table"`
	Row    int64  `json:"row"`
	Column string `json:"column,omitempty"`
	Name   string `json:"name,omitempty"` // of a known difference
	Why    string `json:"why,omitempty"`
	Example
}

// RefusedError says why nothing was sent to the copies.
type RefusedError struct{ Reasons []string }

// Error implements error.
func (e *RefusedError) Error() string { return strings.Join(e.Reasons, "\n  ") }

// Tolerance is how far apart times may be that both sides write, or read one after the other.
const Tolerance = 10 * time.Second

// Write sends the requests of a scenario to both sides and compares what they leave in the copies. If a
// copy is not safe to write to, or is not the one that a side writes to, it sends no write and returns a
// RefusedError.
func (r *Run) Write(ctx context.Context, scenario Scenario, php, bookside *rowdiff.Copy) (*Result, error) {
	if err := r.refuse(ctx, php, bookside); err != nil {
		return nil, err
	}
	pair, differing, err := rowdiff.NewPair(ctx, php, bookside, Tolerance)
	if err != nil {
		return nil, err
	}
	if len(differing) > 0 {
		reasons := []string{"the copies are not equal; restore both from the same dump, and leave them alone meanwhile:"}
		for _, t := range slices.Sorted(maps.Keys(differing)) {
			reasons = append(reasons, fmt.Sprintf("%s: %s", t, count(differing[t], "row")))
		}
		return nil, &RefusedError{reasons}
	}
	w := &writer{run: r, pair: pair, answers: [2]map[string]value{{}, {}}, result: &Writes{Skipped: php.Skipped}}
	result := &Result{Started: r.started, PHP: r.options.PHP.Address(), Bookside: r.options.Bookside.Address(), Planned: len(scenario), Writes: w.result}
	r.planned = len(scenario)
	for _, request := range scenario {
		if err := w.send(ctx, request); err != nil {
			result.Stopped = r.reason(ctx, err)
			break
		}
		r.results.compared++
		r.report("")
	}
	result.Compared = len(w.result.Requests)
	result.Reasons = result.reasons(r.without)
	result.conclude()
	return result, nil
}

// refuse checks that mails are off, that PHP uses the first copy and that Bookside uses the second.
func (r *Run) refuse(ctx context.Context, php, bookside *rowdiff.Copy) error {
	copies := []struct {
		name, ordinal string
		copy          *rowdiff.Copy
		here, there   *Side
	}{{"PHP", "first", php, r.options.PHP, r.options.Bookside}, {"Bookside", "second", bookside, r.options.Bookside, r.options.PHP}}
	var reasons []string
	for _, c := range copies {
		unsafe, err := c.copy.Unsafe(ctx)
		if err != nil {
			return fmt.Errorf("copy of %s: %w", c.name, err)
		}
		for _, reason := range unsafe {
			reasons = append(reasons, "copy of "+c.name+": "+reason)
		}
	}
	for _, only := range rowdiff.SameTables(php, bookside) {
		reasons = append(reasons, "only one of the copies has "+only)
	}
	if len(reasons) > 0 {
		return &RefusedError{reasons}
	}
	for _, c := range copies {
		reason, err := recognise(ctx, c.copy, c.here, c.there)
		if err != nil {
			return err
		}
		if reason != "" {
			reasons = append(reasons, fmt.Sprintf("a row written into the %s copy %s", c.ordinal, reason))
		}
	}
	if len(reasons) > 0 {
		return &RefusedError{reasons}
	}
	return nil
}

// recognise writes a marker into a copy; it must be visible through one server and not through the other.
func recognise(ctx context.Context, c *rowdiff.Copy, here, there *Side) (reason string, err error) {
	code := rand.Text()[:10]
	marker, err := c.PutMarker(ctx, "Bookside compare "+code)
	if err != nil {
		return "", fmt.Errorf("write a marker into a copy: %w", err)
	}
	defer func() { err = errors.Join(err, c.RemoveMarker(context.WithoutCancel(ctx), marker)) }()
	seenHere, err := here.sees(ctx, code)
	if err != nil {
		return "", err
	}
	seenThere, err := there.sees(ctx, code)
	switch {
	case err != nil:
		return "", err
	case !seenHere:
		return "is not visible through " + here.base.Redacted() + ": that server uses another database", nil
	case seenThere:
		return "is also visible through " + there.base.Redacted() + ": both servers use one database", nil
	default:
		return "", nil
	}
}

// sees reports whether a side lists a marker.
func (s *Side) sees(ctx context.Context, code string) (bool, error) {
	a, err := s.get(ctx, newRequest("/services", "status=disabled&per_page=10&search="+code), nil)
	if err != nil {
		return false, err
	}
	if a.status != http.StatusOK {
		return false, fmt.Errorf("%s/services answers %d", s.base.Redacted(), a.status)
	}
	return slices.ContainsFunc(a.json.at("data").members, func(record member) bool {
		return strings.HasSuffix(record.value.at("name").text, code)
	}), nil
}

// writer sends the requests of a scenario.
type writer struct {
	run     *Run
	pair    *rowdiff.Pair
	answers [2]map[string]value // responses of PHP and of Bookside, by request name
	result  *Writes
}

func (w *writer) send(ctx context.Context, request scenarioRequest) error {
	var got [2]answer
	for i, side := range []*Side{w.run.options.PHP, w.run.options.Bookside} {
		path, missing := fill(request.path, w.answers[i])
		body, err := fill(request.body, w.answers[i])
		if err := errors.Join(missing, err); err != nil {
			return err
		}
		parsed, err := url.Parse(path)
		if err != nil {
			return fmt.Errorf("line %d: the path cannot be read", request.line)
		}
		header := request.header.Clone()
		if body != "" && header.Get("Content-Type") == "" {
			header.Set("Content-Type", "application/json")
		}
		if got[i], err = side.send(ctx, request.method, side.url(parsed.EscapedPath(), parsed.Query()), header, body, w.run.waiting); err != nil {
			return err
		}
		if request.name != "" {
			w.answers[i][request.name] = got[i].json
		}
	}
	differences, counts, err := w.pair.Next(ctx)
	if err != nil {
		return err
	}
	w.result.Requests = append(w.result.Requests, w.judge(request, got, differences, counts))
	return nil
}

func (w *writer) judge(request scenarioRequest, got [2]answer, differences []rowdiff.Difference, counts []rowdiff.Counts) WriteResult {
	m, ignore := mask{show: w.run.options.ShowPersonal}, w.run.options.Ignore
	path, _, _ := strings.Cut(request.path, "?")
	result := WriteResult{Request: request.method + " " + path, PHP: got[0].status, Bookside: got[1].status, Tables: counts, Outcome: Equal}
	if got[1].status >= http.StatusBadRequest {
		result.Error = codeOf(got[1].json)
	}
	for _, d := range differences {
		at := location{}.member(string(d.Table)).element(0)
		if d.Column != "" {
			at = at.member(d.Column)
		}
		if ignored(ignore, difference{kind: ValueDiffers, at: at}) {
			continue
		}
		name, why := knownOf(knownRows, request, d)
		if name == "" {
			result.Outcome = Different
		}
		for _, f := range w.findings(m, d) {
			f.Name, f.Why = name, why
			result.Rows = append(result.Rows, f)
		}
	}
	slices.SortStableFunc(result.Rows, func(a, b RowFinding) int { return cmp.Compare(a.Name, b.Name) })
	x := comparison{php: got[0], again: got[0], bookside: got[1]}
	for _, d := range answerDifferences(got[0], got[1]) {
		name, _ := knownOf(knownDifferences, x, d)
		same := d.kind == ValueDiffers && w.same(d.at, d.php, d.bookside) // ids and codes of new records, as in the rows
		if d.kind.remark() || name != "" || same || request.sendsOurs() && oursShown.MatchString(d.path()) || ignored(ignore, d) {
			continue
		}
		result.Answer = append(result.Answer, Finding{Kind: d.kind, Path: d.path(), Exact: d.exact(), Example: m.example(d)})
		result.Outcome = Different
	}
	return result
}

// findings returns a difference of rows in displayable form; for values that are JSON texts, what differs
// inside them.
func (w *writer) findings(m mask, d rowdiff.Difference) []RowFinding {
	found := RowFinding{Kind: string(d.Kind), Table: string(d.Table), Row: d.Key, Column: d.Column}
	switch d.Kind {
	case rowdiff.MissingRow:
		found.Example = newExample(m.wholeRow(d.Row), absent)
	case rowdiff.AdditionalRow:
		found.Example = newExample(absent, m.wholeRow(d.Row))
	default:
		found.Example = newExample(m.column(d.Column, d.PHP), m.column(d.Column, d.Bookside))
	}
	if d.PHP == nil || d.Bookside == nil {
		return []RowFinding{found}
	}
	php, errPHP := parseJSON([]byte(*d.PHP))
	bookside, errBookside := parseJSON([]byte(*d.Bookside))
	if errPHP != nil || errBookside != nil || php.scalar() || bookside.scalar() {
		return []RowFinding{found}
	}
	inner := differ{same: w.same}
	inner.compare(location{}.member(d.Column), php, bookside)
	var all []RowFinding
	for _, i := range inner.found {
		part := found
		part.Kind, part.Column = string(i.kind), strings.TrimPrefix(i.exact(), "$.")
		part.Example = newExample(m.inColumn(i.at.last(), i.php), m.inColumn(i.at.last(), i.bookside))
		all = append(all, part)
	}
	if len(all) == 0 {
		return []RowFinding{found}
	}
	return all
}

// inColumn returns a value in a column's JSON text in displayable form.
func (m mask) inColumn(name string, v value) string {
	switch {
	case v.kind == 0:
		return absent
	case v.kind == jsontext.KindString:
		return m.column(name, &v.text)
	case !v.scalar() && !m.show:
		v = m.hide(v, true, name)
	}
	return shorten(v.String())
}

// same reports whether two scalars are equivalent in the two copies.
func (w *writer) same(at location, php, bookside value) bool {
	return php.kind == bookside.kind && w.pair.Mapping().Same(at.last(), php.text, bookside.text)
}

// column returns a column's value in displayable form: numbers, times and words are shown unchanged.
func (m mask) column(name string, stored *string) string {
	if stored == nil {
		return "NULL"
	}
	text := *stored
	if !m.show && !harmless.MatchString(text) && (personalName(name, "customer") || !slices.Contains(wordColumns, name)) {
		text = scramble(text)
	}
	return "'" + shorten(text) + "'"
}

// wordColumns are columns that hold words of the plugin.
var wordColumns = []string{
	"status", "payment_status", "fulfillment_status", "code", "kind", "processor", "payment_method", "payment_portion", "variant", "visibility", "meta_key", "initiated_by", "object_model_type",
	"server_timezone", "customer_timezone", "coupon_code", "event_type",
}

func (m mask) wholeRow(row map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(row)) {
		value := row[name]
		parts = append(parts, name+" = "+m.column(name, &value))
	}
	return strings.Join(parts, ", ")
}

// ours matches a field of a booking that the extension ignores, and oursShown the places in the answer that depend on one.
var (
	ours      = regexp.MustCompile(`"(?:extras|coupon_code|custom_fields)"\s*:`)
	oursShown = regexp.MustCompile(`^\$\.data\.(?:extras|custom_fields|end_time|end_date|price|customer\.custom_fields|order\.(?:subtotal|total|tax_total|discount_total|coupon_code|coupon_discount))`)
)

// sendsOurs reports whether a request makes a booking with fields that the extension ignores.
func (r scenarioRequest) sendsOurs() bool {
	return r.method == http.MethodPost && strings.HasPrefix(r.path, "/bookings") && ours.MatchString(r.body)
}

func column(d rowdiff.Difference, t wpdb.Table, names ...string) bool {
	return d.Kind == rowdiff.OtherValue && d.Table == t && slices.Contains(names, d.Column)
}

// knownRows are the known differences of rows.
var knownRows = []known[scenarioRequest, rowdiff.Difference]{
	{"payments bring the order in step", "The payment status of an order, and the invoice that a payment settles, follow its payments; in the plugin people do that by hand.", func(r scenarioRequest, d rowdiff.Difference) bool {
		return strings.HasPrefix(r.path, "/payments") && (column(d, wpdb.Orders, "payment_status", "updated_at") || column(d, wpdb.OrderInvoices, "status", "updated_at"))
	}},
	{"payments have their order's customer", "A payment that names no customer gets that of its order, and goes to another one with it; in the plugin it stays behind.", func(_ scenarioRequest, d rowdiff.Difference) bool {
		return column(d, wpdb.Transactions, "customer_id", "updated_at")
	}},
	{"refunds are rows of their own", "A payment that is refunded stays as it was, with a row in transaction_refunds as the plugin's gateways write it; the extension changes the payment.", func(r scenarioRequest, d rowdiff.Difference) bool {
		return r.method == http.MethodPut && strings.HasPrefix(r.path, "/payments/") &&
			(d.Kind == rowdiff.AdditionalRow && d.Table == wpdb.TransactionRefunds || column(d, wpdb.Transactions, "status") && d.PHP != nil && *d.PHP == "refunded")
	}},
	{"the order item follows its booking", "The data of an order item are kept in step with the booking; the plugin leaves them as they were.", func(r scenarioRequest, d rowdiff.Difference) bool {
		return r.method == http.MethodPut && column(d, wpdb.OrderItems, "item_data", "updated_at")
	}},
	{"a deleted booking gets no new keys", "When the plugin logs that it has deleted a booking, it makes new keys to manage it; they lead nowhere.", func(r scenarioRequest, d rowdiff.Difference) bool {
		return r.method == http.MethodDelete && d.Kind == rowdiff.MissingRow && d.Table == wpdb.BookingMeta && strings.HasPrefix(d.Row["meta_key"], "key_to_manage")
	}},
	{"unchanged records are not written", "The plugin also saves records in which nothing changed, with a new updated_at.", func(_ scenarioRequest, d rowdiff.Difference) bool {
		return d.Kind == rowdiff.OtherValue && d.Column == "updated_at" && !d.Touched
	}},
	{"fields of Bookside", "The extension ignores extras, coupon codes and custom fields of a new booking; Bookside stores them where the site has Pro Features, and the booking lasts and costs accordingly.", func(r scenarioRequest, d rowdiff.Difference) bool {
		return r.sendsOurs() && (d.Kind == rowdiff.AdditionalRow && slices.Contains([]wpdb.Table{wpdb.BookingsServiceExtras, wpdb.BookingMeta, wpdb.CustomerMeta}, d.Table) ||
			column(d, wpdb.Bookings, "end_time", "end_date", "end_datetime_utc") || column(d, wpdb.OrderItems, "item_data", "subtotal", "total", "coupon_code", "coupon_discount") ||
			column(d, wpdb.Orders, "subtotal", "total", "tax_total", "coupon_code", "coupon_discount", "price_breakdown") || column(d, wpdb.OrderInvoices, "charge_amount", "data"))
	}},
	{"who sends a mail logs it", "Jobs and the entries about mails that were sent come from the side that sends them.", func(_ scenarioRequest, d rowdiff.Difference) bool {
		return d.Table == wpdb.ProcessJobs || d.Table == wpdb.Activities && slices.Contains([]string{"email_sent", "sms_sent", "process_job_run"}, d.Row["code"])
	}},
	{"details of the activity log", "The activity log has values as the database has them, every change, and the items of an order before and after.", func(_ scenarioRequest, d rowdiff.Difference) bool {
		return column(d, wpdb.Activities, "description")
	}},
	{"the price breakdown names the new service", "The plugin leaves the name of the old service there when a booking gets another one.", func(r scenarioRequest, d rowdiff.Difference) bool {
		return r.method == http.MethodPut && column(d, wpdb.Orders, "price_breakdown")
	}},
}

func (r *Result) concludeWrites() {
	differing, known, writing, rejected := 0, 0, 0, 0
	for _, w := range r.Writes.Requests {
		if len(w.Tables) > 0 {
			writing++
		}
		if w.PHP >= http.StatusBadRequest && w.Bookside >= http.StatusBadRequest {
			rejected++
		}
		if w.Outcome == Different {
			differing++
		}
		for _, f := range w.Rows {
			if f.Name != "" {
				known++
			}
		}
	}
	reason := ""
	if r.Stopped != "" {
		reason = " " + r.Stopped
	}
	switch {
	case differing > 0:
		r.Outcome = Different
		r.Verdict = fmt.Sprintf("DIFFERENT: %d of %s left other rows or got other answers.%s", differing, count(r.Compared, "write"), reason)
	case r.Compared < r.Planned:
		r.Outcome = Incomplete
		r.Verdict = fmt.Sprintf("INCOMPLETE: %d of %s compared, none of which differs.%s", r.Compared, count(r.Planned, "write"), reason)
	case writing == 0:
		r.Outcome = Incomplete
		r.Verdict = fmt.Sprintf("INCOMPLETE: none of %s changed a row in either copy, and both sides rejected %d.", count(r.Compared, "write"), rejected)
	default:
		r.Outcome = Equal
		r.Verdict = fmt.Sprintf("EQUAL: %s left the same rows in both copies (%s; both sides rejected %d).", count(r.Compared, "write"), count(known, "known difference"), rejected)
	}
}
