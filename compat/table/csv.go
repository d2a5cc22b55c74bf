// Package table writes records, in their JSON form, as rows of a table. It imports nothing of the project, and sends nothing.
package table

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// CSV writes records of a list, in the form in which they are sent, as rows of a table (RFC 4180, in
// UTF-8). The first row holds the names of the fields:
//
//   - a field of a record in a record has both names, with a dot: customer.email;
//   - so has a field of a list of records. Its values in these records are in one cell,
//     separated by "; ";
//   - names that are not known before, such as those of meta, are in one cell as JSON.
//
// Empty texts, null and empty lists are empty cells.
type CSV struct {
	columns []Column
	rows    *csv.Writer
	begun   bool
}

// Column is a field of the records of a list, at any depth.
type Column struct {
	Path []string
	// Optional is how many names of the path belong to a field that records may lack; 0 if all records have
	// the field. If the first record lacks it, there is no column.
	Optional int
}

// NewCSV returns a table with these columns.
func NewCSV(to io.Writer, columns []Column) *CSV {
	rows := csv.NewWriter(to)
	rows.UseCRLF = true
	return &CSV{columns: columns, rows: rows}
}

// Add writes records.
func (c *CSV) Add(records []json.RawMessage) error {
	for _, text := range records {
		record, err := decoded(text)
		if err != nil {
			return fmt.Errorf("read a record: %w", err)
		}
		if err := c.begin(record); err != nil {
			return err
		}
		cells := make([]string, len(c.columns))
		for i, column := range c.columns {
			cell, err := cellOf(record, column.Path)
			if err != nil {
				return err
			}
			cells[i] = withoutFormula(cell)
		}
		if err := c.rows.Write(cells); err != nil {
			return fmt.Errorf("write a row: %w", err)
		}
	}
	return c.flush()
}

// Close ends the table.
func (c *CSV) Close() error {
	if err := c.begin(nil); err != nil {
		return err
	}
	return c.flush()
}

func (c *CSV) flush() error {
	c.rows.Flush()
	if err := c.rows.Error(); err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	return nil
}

// begin writes the names of the columns, once. record is the first record, or nil.
func (c *CSV) begin(record any) error {
	if c.begun {
		return nil
	}
	c.begun = true
	c.columns = slices.DeleteFunc(c.columns, func(column Column) bool { return column.Optional > 0 && !has(record, column.Path[:column.Optional]) })
	names := make([]string, len(c.columns))
	for i, column := range c.columns {
		names[i] = strings.Join(column.Path, ".")
	}
	if err := c.rows.Write(names); err != nil {
		return fmt.Errorf("write the names of columns: %w", err)
	}
	return nil
}

// has reports whether there is a value at a path.
func has(value any, path []string) bool {
	for _, name := range path {
		members, ok := value.(map[string]any)
		if !ok {
			return false
		}
		if value, ok = members[name]; !ok {
			return false
		}
	}
	return true
}

func decoded(text json.RawMessage) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// cellOf returns the text of the value at a path.
func cellOf(value any, path []string) (string, error) {
	switch value := value.(type) {
	case nil:
		return "", nil
	case string:
		return value, nil
	case json.Number:
		return value.String(), nil
	case bool:
		return fmt.Sprint(value), nil
	case map[string]any:
		if len(path) > 0 {
			return cellOf(value[path[0]], path[1:])
		}
		return jsonCell(value, len(value))
	case []any:
		if len(path) == 0 {
			return jsonCell(value, len(value))
		}
		cells := make([]string, len(value))
		for i, element := range value {
			var err error
			if cells[i], err = cellOf(element, path); err != nil {
				return "", err
			}
		}
		return strings.Join(cells, "; "), nil
	default:
		return "", fmt.Errorf("no cell can show a %T", value)
	}
}

// jsonCell returns the text of a value with this many parts.
func jsonCell(value any, parts int) (string, error) {
	if parts == 0 {
		return "", nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("write a cell: %w", err)
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// formulaStart matches what a spreadsheet takes for the beginning of a formula, or skips while looking for one. It takes
// full-width signs for the ordinary ones, and may skip spaces and what is not seen.
var formulaStart = regexp.MustCompile(`^[\pZ\pC]*[=+\-@＝＋－＠]|^[\t\r\n]`)

// innerFormula matches the beginning of a formula inside a cell when a file is read with other separators,
// such as semicolons, which spreadsheets use in countries with a decimal comma: quotes then do not hold a
// cell together.
var innerFormula = regexp.MustCompile("([;\t\r\n]\"*)([=+@＝＋＠－-])")

// negativeNumber matches what begins like a formula but is a number.
var negativeNumber = regexp.MustCompile(`^-[0-9]+(\.[0-9]+)?$`)

// withoutFormula returns a cell that no spreadsheet runs as a formula, because people can write anything into
// names and comments. A leading apostrophe makes it a text.
func withoutFormula(cell string) string {
	if cell == "" || negativeNumber.MatchString(cell) {
		return cell
	}
	if formulaStart.MatchString(cell) {
		cell = "'" + cell
	}
	return innerFormula.ReplaceAllString(cell, "${1}'${2}")
}
