package text

import (
	"regexp"
	"strconv"
	"strings"
)

// quotes says whether escape also escapes quotes.
type quotes bool

const (
	quoted   quotes = true
	unquoted quotes = false
)

var (
	special       = strings.NewReplacer("<", "&lt;", ">", "&gt;")
	specialQuoted = strings.NewReplacer("<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#039;")
)

// HTML escapes a text for HTML, including quotes; entities in it stay entities (esc_html).
func HTML(text string) string { return escape(text, quoted) }

// escape escapes a text for HTML; entities in it stay entities (_wp_specialchars,
// esc_html).
func escape(text string, q quotes) string {
	text = ampersand.ReplaceAllStringFunc(text, normalizeEntity)
	if q {
		return specialQuoted.Replace(text)
	}
	return special.Replace(text)
}

// ampersand matches an entity, or an & that begins none.
var ampersand = regexp.MustCompile(`&(?:#(0*[1-9][0-9]{0,6});|#[xX](0*[1-9A-Fa-f][0-9A-Fa-f]{0,5});|([A-Za-z]{2,8}[0-9]{0,2});)?`)

// normalizeEntity returns an entity in HTML's form, and escapes any other & (wp_kses_normalize_entities).
func normalizeEntity(text string) string {
	m := ampersand.FindStringSubmatch(text)
	switch decimal, hex, name := m[1], m[2], m[3]; {
	case decimal != "" && validRune(decimal, 10):
		decimal = strings.TrimLeft(decimal, "0")
		return "&#" + strings.Repeat("0", max(0, 3-len(decimal))) + decimal + ";"
	case hex != "" && validRune(hex, 16):
		return "&#x" + strings.TrimLeft(hex, "0") + ";"
	case entityNames[name]:
		return text
	case hex != "":
		return "&amp;#x" + hex + ";"
	}
	return "&amp;" + text[1:]
}

// validRune reports whether XML may contain the character with this number.
func validRune(digits string, base int) bool {
	n, err := strconv.ParseInt(strings.TrimLeft(digits, "0"), base, 32)
	return err == nil && (n == '\t' || n == '\n' || n == '\r' ||
		n >= 0x20 && n <= 0xD7FF || n >= 0xE000 && n <= 0xFFFD || n >= 0x10000 && n <= 0x10FFFF)
}

// entityNames are the named entities of HTML 4.
var entityNames = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range strings.Fields(html4) {
		names[name] = true
	}
	return names
}()

const html4 = "AElig Aacute Acirc Agrave Alpha Aring Atilde Auml Beta Ccedil Chi Dagger Delta ETH Eacute Ecirc Egrave Epsilon Eta Euml " +
	"Gamma Iacute Icirc Igrave Iota Iuml Kappa Lambda Mu Ntilde Nu OElig Oacute Ocirc Ograve Omega Omicron Oslash Otilde Ouml " +
	"Phi Pi Prime Psi Rho Scaron Sigma THORN Tau Theta Uacute Ucirc Ugrave Upsilon Uuml Xi Yacute Yuml Zeta aacute acirc " +
	"acute aelig agrave alefsym alpha amp and ang aring asymp atilde auml bdquo beta brvbar bull cap ccedil cedil cent chi " +
	"circ clubs cong copy crarr cup curren dArr dagger darr deg delta diams divide eacute ecirc egrave empty emsp ensp " +
	"epsilon equiv eta eth euml euro exist fnof forall frac12 frac14 frac34 frasl gamma ge gt hArr harr hearts hellip iacute " +
	"icirc iexcl igrave image infin int iota iquest isin iuml kappa lArr lambda lang laquo larr lceil ldquo le lfloor lowast " +
	"loz lrm lsaquo lsquo lt macr mdash micro middot minus mu nabla nbsp ndash ne ni not notin nsub ntilde nu oacute ocirc " +
	"oelig ograve oline omega omicron oplus or ordf ordm oslash otilde otimes ouml para part permil perp phi pi piv plusmn " +
	"pound prime prod prop psi quot rArr radic rang raquo rarr rceil rdquo real reg rfloor rho rlm rsaquo rsquo sbquo scaron " +
	"sdot sect shy sigma sigmaf sim spades sub sube sum sup sup1 sup2 sup3 supe szlig tau there4 theta thetasym thinsp thorn " +
	"tilde times trade uArr uacute uarr ucirc ugrave uml upsih upsilon uuml weierp xi yacute yen yuml zeta zwj zwnj"
