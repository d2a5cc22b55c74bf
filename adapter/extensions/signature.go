package extensions

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// SignatureHeader carries the signature of a request: its time, its nonce and their HMAC, see Request.Header.
const SignatureHeader = "X-Bookside-Signature"

// ToServer is the receiver of requests from WordPress.
const ToServer = "server"

// ToWordPress is the receiver of requests from the server.
const ToWordPress = "wordpress"

// SignatureLife is how long a request is valid before and after its time, because the clocks of two machines differ.
const SignatureLife = time.Minute

// SignedRequest is what a signature covers. It is valid for one receiver and one site, so that a request sent
// back is not accepted, and neither is one from a copy of the site, which has the same secret.
type SignedRequest struct {
	Receiver string
	Site     string // the site's fingerprint, see session.Platform.Fingerprint
	Method   string
	Target   string // path and query, as sent
	Body     []byte
	At       time.Time
	Nonce    string // 32 hexadecimal digits
}

var (
	// ErrSignature means that a request is not signed, or not with this secret for this receiver and site.
	ErrSignature = errors.New("the signature is missing or wrong")
	// ErrTime means that a request with a valid signature is too old, or from the future.
	ErrTime = errors.New("the time of the request differs by more than a minute")
)

// signature is the HMAC-SHA256 of a request, in hexadecimal digits.
func (r SignedRequest) signature(secret string) string {
	return sign(secret, "bookside 1", r.Receiver, r.Site, r.Method, r.Target, digest(r.Body), strconv.FormatInt(r.At.Unix(), 10), r.Nonce)
}

// sign returns the HMAC-SHA256 of lines, in hexadecimal digits. The first line says what they are.
func sign(secret string, lines ...string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(mac.Sum(nil))
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Header returns the value of the header, such as 1796000000.NONCE.SIGNATURE.
func (r SignedRequest) Header(secret string) string {
	return fmt.Sprintf("%d.%s.%s", r.At.Unix(), r.Nonce, r.signature(secret))
}

// headerForm matches the header's value.
var headerForm = regexp.MustCompile(`^([0-9]{1,12})\.([0-9a-f]{32})\.([0-9a-f]{64})$`)

// IsSignature reports whether the value of a header has the form of a signature, which the body may bear out.
func IsSignature(header string) bool { return headerForm.MatchString(header) }

// AnswerHeader returns the header of the response to a request. It proves to the sender that the receiver
// and nobody else answered.
func (r SignedRequest) AnswerHeader(secret string, status int, body []byte) string {
	return sign(secret, "bookside 1 answer", r.Nonce, strconv.Itoa(status), digest(body))
}

// Check reads the header of a request into r.At and r.Nonce. It returns nil, an ErrSignature, or an
// ErrTime. The receiver must ensure that a nonce is used only once; otherwise the same request can be sent
// again.
func (r *SignedRequest) Check(header, secret string, now time.Time) error {
	parts := headerForm.FindStringSubmatch(header)
	if parts == nil || secret == "" || r.Site == "" {
		return ErrSignature
	}
	seconds, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return ErrSignature
	}
	r.At, r.Nonce = time.Unix(seconds, 0), parts[2]
	switch {
	case !hmac.Equal([]byte(r.signature(secret)), []byte(parts[3])):
		return ErrSignature
	case now.Sub(r.At).Abs() > SignatureLife:
		return ErrTime
	default:
		return nil
	}
}
