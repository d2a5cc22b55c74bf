package session

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// PHP's DateTimeZone accepts more than the names of time zones, all in any letter case: offsets such as +2, -0330
// or GMT+02:00, and abbreviations such as CEST, which stand for one offset all year.

var (
	offsetForm  = regexp.MustCompile(`^(?i:GMT)?([+-])([0-9]+|[0-9]{1,2}:[0-9]{1,2}|[0-9]{2}:[0-9]{2}:[0-9]{2})$`)
	firstLetter = regexp.MustCompile(`(^|[/_-])[a-z]`)
)

// fixedZone returns the zone of an offset or an abbreviation.
func fixedZone(text string) (Zone, bool) {
	for seconds, words := range abbreviations {
		for word := range strings.FieldsSeq(words) {
			if strings.EqualFold(word, text) {
				return zoneAhead(seconds), true
			}
		}
	}
	m := offsetForm.FindStringSubmatch(text)
	if m == nil {
		return Zone{}, false
	}
	parts := strings.Split(m[2], ":")
	if digits := m[2]; len(parts) == 1 {
		switch len(digits) {
		case 1, 2:
		case 3, 4:
			parts = []string{digits[:len(digits)-2], digits[len(digits)-2:]}
		case 6:
			parts = []string{digits[:2], digits[2:4], digits[4:]}
		default:
			return Zone{}, false
		}
	}
	seconds := 0
	for i, part := range parts {
		n, _ := strconv.Atoi(part) // digits, by the form
		seconds += n * [...]int{3600, 60, 1}[i]
	}
	if m[1] == "-" {
		seconds = -seconds
	}
	return zoneAhead(seconds), true
}

// zoneAhead returns the zone that is some seconds ahead of UTC, named by that.
func zoneAhead(seconds int) Zone {
	sign, size := "+", seconds
	if seconds < 0 {
		sign, size = "-", -seconds
	}
	name := fmt.Sprintf("%s%02d:%02d", sign, size/3600, size/60%60)
	if size%60 != 0 {
		name += fmt.Sprintf(":%02d", size%60)
	}
	return Zone{Name: name, Location: time.FixedZone(name, seconds)}
}

// zoneName returns the name of a zone in the letter case that it has in the time zone database.
func zoneName(text string) string {
	for name := range strings.FieldsSeq(irregularZones) {
		if strings.EqualFold(name, text) {
			return name
		}
	}
	name := firstLetter.ReplaceAllStringFunc(strings.ToLower(text), strings.ToUpper)
	for _, area := range []string{"Etc/G", "Etc/U"} { // Etc/GMT-2, Etc/UTC, but Etc/Greenwich
		if strings.HasPrefix(name, area) && len(name) < len("Etc/Greenwich") && !strings.HasPrefix(name, "Etc/Un") {
			return "Etc/" + strings.ToUpper(name[len("Etc/"):])
		}
	}
	if rest, found := strings.CutPrefix(name, "Us/"); found {
		return "US/" + rest
	}
	return name
}

// irregularZones are the names in which other letters than the first of each word are capitals, or not all of those.
const irregularZones = "Africa/Dar_es_Salaam America/Argentina/ComodRivadavia America/Knox_IN America/Port-au-Prince America/Port_of_Spain Antarctica/DumontDUrville Antarctica/McMurdo Australia/ACT " +
	"Australia/LHI Australia/NSW Brazil/DeNoronha Chile/EasterIsland CST6CDT EST5EDT Europe/Isle_of_Man " +
	"GB GB-Eire GMT GMT+0 GMT-0 GMT0 Mexico/BajaNorte Mexico/BajaSur MST7MDT NZ NZ-CHAT PRC PST8PDT ROC ROK UCT UTC W-SU"

// abbreviations are those that PHP knows, by how many seconds they are ahead of UTC.
var abbreviations = map[int]string{
	-43200: "y",
	-39600: "sst x",
	-36000: "ahst bdt hst w",
	-34200: "hdt hpt hwt",
	-32400: "ahdt akst v yst",
	-28800: "akdt pst u ydt ypt ywt",
	-26248: "emt",
	-25200: "mst pdt ppt pwt t yddt",
	-21600: "cst mdt mpt mwt pddt s",
	-20173: "sjmt",
	-19776: "hmt",
	-18840: "qmt",
	-18000: "cdt cpt cwt est mddt r",
	-17340: "ppmt",
	-16800: "sdmt",
	-15408: "cmt",
	-14660: "ffmt",
	-14400: "ast cddt edt ept ewt q",
	-14309: "bmt",
	-13884: "smt",
	-13840: "amt",
	-13236: "pmt",
	-12600: "nst",
	-10800: "adt apt awt eddt p",
	-9052:  "ndt",
	-9000:  "npt nwt",
	-7200:  "addt o",
	-5400:  "nddt",
	-4056:  "fmt",
	-3600:  "n",
	-1521:  "dmt",
	0:      "wet z",
	3600:   "a bst cet met wat west",
	5040:   "wmt",
	5736:   "kmt",
	5794:   "rmt",
	7200:   "b bdst cat cest eet ist mest sast wast wemt",
	8440:   "jmt",
	9017:   "mmt",
	9394:   "lst",
	10751:  "tbmt",
	10800:  "c cemt eat eest idt msk",
	12344:  "tmt",
	14400:  "d iddt msd",
	16279:  "mdst",
	18000:  "e pkt",
	21600:  "f pkst",
	25025:  "imt",
	25200:  "g wib",
	25590:  "plmt",
	28800:  "awst h hkt wita",
	30600:  "kst",
	32400:  "awdt hkst i jst wit",
	34200:  "acst cast",
	36000:  "aest chst gst jdt k kdt",
	37800:  "acdt",
	39600:  "aedt gdt l",
	41400:  "nzmt",
	43200:  "m nzst",
	46800:  "nzdt",
}
