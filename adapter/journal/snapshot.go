package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// spanSize is the number of consecutive ids that one row of the snapshots covers. It is part of the stored
// data: another size would need other rows.
const spanSize = 256

// spanOf returns the span of an id: span 2 has the ids 512 to 767.
func spanOf(id int64) int64 { return id / spanSize }

// spansOf returns the spans of ids in ascending order, each once.
func spansOf(ids []int64) []int64 {
	spans := make([]int64, len(ids))
	for i, id := range ids {
		spans[i] = spanOf(id)
	}
	return slices.Compact(spans)
}

// rowState is what a snapshot keeps of a row.
type rowState struct {
	hash  uint32 // CRC-32 of all columns
	facts string // see factsOf
}

// snapshot holds the rows of one span by id.
type snapshot map[int64]rowState

func (s snapshot) add(rows []presentRow) {
	for _, row := range rows {
		s[row.id] = row.rowState
	}
}

// checksum is the sum that the database computes over the rows of a span, see spanChecksum. The weights
// keep two equal differences from cancelling each other out: CRC-32 is linear, so the same edit changes the
// hashes of similar rows alike.
func (s snapshot) checksum() uint64 {
	var sum uint64
	for id, row := range s {
		sum ^= uint64(row.hash) * uint64(2*(id%checksumWeights)+1)
	}
	return sum
}

// checksumWeights is the number of different weights. With it, a product of a hash and a weight has at most
// 49 bits, which no server rejects as too large.
const checksumWeights = 65536

// snapshotVersion is the first byte of an encoded snapshot.
const snapshotVersion = 1

// encode returns the snapshot in a few bytes per row: a version; the number of different facts, and each
// with its length; then, for each row, its offset in the span, the index of its facts, and its hash.
func (s snapshot) encode() []byte {
	var dictionary []string
	index := map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(s)) {
		facts := s[id].facts
		if _, known := index[facts]; !known {
			index[facts] = len(dictionary)
			dictionary = append(dictionary, facts)
		}
	}
	content := binary.AppendUvarint([]byte{snapshotVersion}, uint64(len(dictionary)))
	for _, facts := range dictionary {
		content = binary.AppendUvarint(content, uint64(len(facts)))
		content = append(content, facts...)
	}
	for _, id := range slices.Sorted(maps.Keys(s)) {
		content = append(content, byte(id%spanSize))
		content = binary.AppendUvarint(content, uint64(index[s[id].facts]))
		content = binary.BigEndian.AppendUint32(content, s[id].hash)
	}
	return content
}

// errSnapshot means that a stored snapshot cannot be decoded.
var errSnapshot = errors.New("damaged snapshot")

// decodeSnapshot is the reverse of encode.
func decodeSnapshot(span int64, content []byte) (snapshot, error) {
	if len(content) == 0 || content[0] != snapshotVersion {
		return nil, errSnapshot
	}
	content = content[1:]
	number := func() (uint64, bool) {
		n, size := binary.Uvarint(content)
		if size <= 0 {
			return 0, false
		}
		content = content[size:]
		return n, true
	}
	count, ok := number()
	if !ok || count > spanSize {
		return nil, errSnapshot
	}
	dictionary := make([]string, count)
	for i := range dictionary {
		length, ok := number()
		if !ok || length > uint64(len(content)) {
			return nil, errSnapshot
		}
		dictionary[i], content = string(content[:length]), content[length:]
	}
	s := snapshot{}
	for len(content) > 0 {
		id := span*spanSize + int64(content[0])
		content = content[1:]
		facts, ok := number()
		if !ok || facts >= count || len(content) < 4 {
			return nil, errSnapshot
		}
		s[id] = rowState{binary.BigEndian.Uint32(content), dictionary[facts]}
		content = content[4:]
	}
	return s, nil
}

// text returns the facts as a snapshot stores them, in the form of factsOf.
func (f BookingFacts) text() string {
	return fmt.Sprintf("%d|%d|%d|%d|%s", f.AgentID, f.ServiceID, f.LocationID, f.CustomerID, f.NewStatus)
}

// bookingFacts parses the facts that a snapshot stores for a booking, in the order of factsOf.
func bookingFacts(facts string) (f BookingFacts, err error) {
	if facts == "" {
		return f, nil
	}
	parts := strings.SplitN(facts, "|", 5)
	if len(parts) < 5 {
		return f, errSnapshot
	}
	for i, id := range []*int64{&f.AgentID, &f.ServiceID, &f.LocationID, &f.CustomerID} {
		if *id, err = strconv.ParseInt(parts[i], 10, 64); err != nil {
			return f, fmt.Errorf("%w: %w", errSnapshot, err)
		}
	}
	f.NewStatus = parts[4]
	return f, nil
}
