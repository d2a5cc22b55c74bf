package compat

import "bookside/adapter"

// List is the envelope of lists.
type List struct {
	Success    bool       `json:"success"`
	Data       any        `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Pagination tells where in a list a page stands.
type Pagination struct {
	Page            int64 `json:"page"`
	PerPage         int64 `json:"per_page"`
	Total           int64 `json:"total"`
	TotalPages      int64 `json:"total_pages"`
	HasNextPage     bool  `json:"has_next_page"`
	HasPreviousPage bool  `json:"has_previous_page"`
}

// list puts a page of records into their envelope.
func list[T, R any](page adapter.Page[T], shape func(T) R) List {
	pages := totalPages(page.Total, page.PerPage)
	return List{
		Success: true,
		Data:    each(page.Records, shape),
		Pagination: Pagination{
			Page: page.Page, PerPage: page.PerPage, Total: page.Total, TotalPages: pages,
			HasNextPage: page.Page < pages, HasPreviousPage: page.Page > 1,
		},
	}
}

func totalPages(total, perPage int64) int64 { return (total + perPage - 1) / perPage }

// Single is the envelope of one record whose shape the contract shows with
// success.
type Single struct {
	Success bool `json:"success"`
	Data    any  `json:"data"`
}

func single(record any) Single { return Single{Success: true, Data: record} }

// StatusSingle is the envelope of one record that is shown with status.
type StatusSingle struct {
	Status string `json:"status"`
	Data   any    `json:"data"`
}

func statusSingle(record any) StatusSingle { return StatusSingle{Status: "success", Data: record} }

// BothSingle is the envelope of one record for which no shape is shown: either
// kind of client finds what it tests.
type BothSingle struct {
	Success bool   `json:"success"`
	Status  string `json:"status"`
	Data    any    `json:"data"`
}

func bothSingle(record any) BothSingle {
	return BothSingle{Success: true, Status: "success", Data: record}
}

// BothMessage is BothSingle for what was written.
type BothMessage struct {
	Success bool   `json:"success"`
	Status  string `json:"status"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

func bothMessage(message string, record any) BothMessage {
	return BothMessage{Success: true, Status: "success", Message: message, Data: record}
}

// SuccessMessage is the envelope of a record that was written, where the contract
// shows it with success.
type SuccessMessage struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

func successMessage(message string, record any) SuccessMessage {
	return SuccessMessage{Success: true, Message: message, Data: record}
}

// Done is the envelope of what leaves no record.
type Done struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
}
