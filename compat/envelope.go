package compat

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/compat/jsonschema"
	"github.com/bookside/bookside/compat/table"
)

// RecordIn returns the record in the response to a single read; sample is a sample of such a response.
func RecordIn(sample any, response []byte) (json.RawMessage, error) {
	if !Enveloped(sample) {
		return response, nil
	}
	return dataIn[json.RawMessage](response)
}

// Enveloped reports whether a sample of a response has its record in the member data.
func Enveloped(sample any) bool {
	_, enveloped := sample.(jsonschema.Envelope)
	return enveloped
}

// RecordsIn returns the records in a list as it is sent.
func RecordsIn(list []byte) ([]json.RawMessage, error) { return dataIn[[]json.RawMessage](list) }

func dataIn[T any](response []byte) (T, error) {
	var around struct {
		Data T `json:"data"`
	}
	if err := json.Unmarshal(response, &around); err != nil {
		return around.Data, fmt.Errorf("find the data in a response: %w", err)
	}
	return around.Data, nil
}

// Columns returns the columns of a table of a list's records; sample is a sample of such a list.
func Columns(sample any) []table.Column {
	for _, f := range jsonschema.Fields(reflect.ValueOf(sample)) {
		if f.Name == "data" {
			return columnsOf(f.Value.Type().Elem(), table.Column{})
		}
	}
	return nil
}

// columnsOf returns the columns of a type at a path.
func columnsOf(t reflect.Type, at table.Column) (columns []table.Column) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return []table.Column{at}
	}
	for _, f := range jsonschema.Fields(reflect.Zero(t)) {
		inner := table.Column{Path: append(slices.Clone(at.Path), f.Name), Optional: at.Optional}
		if f.Optional && inner.Optional == 0 {
			inner.Optional = len(inner.Path)
		}
		columns = append(columns, columnsOf(f.Value.Type(), inner)...)
	}
	return columns
}

// List is the envelope of lists.
type List[R any] struct {
	Success    bool       `json:"success"`
	Data       []R        `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Envelope says that it surrounds a record.
func (List[R]) Envelope() {}

// ListOf returns a sample of a list.
func ListOf[R any]() List[R] { return List[R]{Success: true} }

// Pagination is a page's place in a list.
type Pagination struct {
	Page            int64 `json:"page"`
	PerPage         int64 `json:"per_page"`
	Total           int64 `json:"total"`
	TotalPages      int64 `json:"total_pages"`
	HasNextPage     bool  `json:"has_next_page"`
	HasPreviousPage bool  `json:"has_previous_page"`
}

// list puts a page of records into its envelope.
func list[T, R any](page records.Page[T], shape func(T) R) List[R] {
	pages := totalPages(page.Total, page.PerPage)
	return List[R]{
		Success: true,
		Data:    each(page.Records, shape),
		Pagination: Pagination{
			Page: page.Page, PerPage: page.PerPage, Total: page.Total, TotalPages: pages,
			HasNextPage: page.More, HasPreviousPage: page.Page > 1,
		},
	}
}

func totalPages(total, perPage int64) int64 { return (total + perPage - 1) / perPage }

// Single is the envelope of a single record for which the contract shows success.
type Single[R any] struct {
	Success bool `json:"success"`
	Data    R    `json:"data"`
}

// Envelope says that it surrounds a record.
func (Single[R]) Envelope() {}

func single[R any](record R) Single[R] { return Single[R]{Success: true, Data: record} }

// SingleOf returns a sample of one record.
func SingleOf[R any]() Single[R] { return Single[R]{Success: true} }

// StatusSingle is the envelope of a single record for which the contract shows status.
type StatusSingle[R any] struct {
	Status string `json:"status"`
	Data   R      `json:"data"`
}

// Envelope says that it surrounds a record.
func (StatusSingle[R]) Envelope() {}

func statusSingle[R any](record R) StatusSingle[R] {
	return StatusSingle[R]{Status: "success", Data: record}
}

// StatusSingleOf returns a sample of one record.
func StatusSingleOf[R any]() StatusSingle[R] { return StatusSingle[R]{Status: "success"} }

// BothSingle is the envelope of a single record for which the contract shows no envelope: clients that test
// either find it.
type BothSingle[R any] struct {
	Success bool   `json:"success"`
	Status  string `json:"status"`
	Data    R      `json:"data"`
}

// Envelope says that it surrounds a record.
func (BothSingle[R]) Envelope() {}

func bothSingle[R any](record R) BothSingle[R] {
	return BothSingle[R]{Success: true, Status: "success", Data: record}
}

// BothSingleOf returns a sample of one record.
func BothSingleOf[R any]() BothSingle[R] { return BothSingle[R]{Success: true, Status: "success"} }

// BothMessage is like BothSingle, for a record that was written.
type BothMessage[R any] struct {
	Success bool   `json:"success"`
	Status  string `json:"status"`
	Message string `json:"message"`
	Data    R      `json:"data"`
}

// Envelope says that it surrounds a record.
func (BothMessage[R]) Envelope() {}

func bothMessage[R any](message string) BothMessage[R] {
	return BothMessage[R]{Success: true, Status: "success", Message: message}
}

// about returns the same response about a record.
func (m BothMessage[R]) about(record R) BothMessage[R] {
	m.Data = record
	return m
}

// SuccessMessage is the envelope of a record that was written, if the contract shows it with success.
type SuccessMessage[R any] struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	Data    R      `json:"data"`
}

// Envelope says that it surrounds a record.
func (SuccessMessage[R]) Envelope() {}

func successMessage[R any](message string) SuccessMessage[R] {
	return SuccessMessage[R]{Success: true, Message: message}
}

// about returns the same response about a record.
func (m SuccessMessage[R]) about(record R) SuccessMessage[R] {
	m.Data = record
	return m
}

// Done is the envelope of a write that leaves no record.
type Done struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
}

func done(message string) Done { return Done{Success: true, Message: message} }
