package session

// ExportCursor walks by id through one page of a list that is too long for one response. In a Session that is
// exporting, the list methods return the next chunk of the page instead of the whole page.
//
// Each chunk begins after the last id of the one before. So records that are added or changed meanwhile do not shift
// others: none comes twice and none is skipped. Deleted records are left out.
type ExportCursor struct {
	Chunk int64 // maximum number of records in a chunk

	Exported Paging
	OfAll    int64
	Begun    bool
	Ended    bool    // nothing comes after NextIDs
	Rest     int64   // maximum number of records of the page after NextIDs
	NextIDs  []int64 // ids of the records that come next
	Last     int64   // the last of them
}

// Total is the size of the list that the page belongs to, when the export began.
func (c *ExportCursor) Total() int64 { return c.OfAll }

// Size is the number of records on the page when the export began.
func (c *ExportCursor) Size() int64 {
	return min(c.Exported.PerPage, max(0, c.OfAll-(c.Exported.Page-1)*c.Exported.PerPage))
}

// Passed is how many records of the page were passed, including those deleted meanwhile.
func (c *ExportCursor) Passed() int64 {
	if !c.Begun {
		return 0
	}
	return c.Exported.PerPage - c.Rest - int64(len(c.NextIDs))
}

// Page is the page that is exported.
func (c *ExportCursor) Page() Paging { return c.Exported }

// Pass moves on past the present chunk. Until then, the lists return the same chunk again.
func (c *ExportCursor) Pass() { c.NextIDs = c.NextIDs[min(int64(len(c.NextIDs)), c.Chunk):] }

// Done reports whether the export is complete.
func (c *ExportCursor) Done() bool { return len(c.NextIDs) == 0 && (c.Ended || !c.Begun) }
