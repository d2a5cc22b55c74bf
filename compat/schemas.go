package compat

import (
	"reflect"

	"github.com/bookside/bookside/compat/jsonschema"
)

// The names of other values that have more than one form.
const (
	writtenName = "WriteOutcome"
	fieldName   = "CustomFieldValue"
	priceName   = "Price"
)

// NewSchemas returns the schemas of the document without any record.
func NewSchemas() *jsonschema.Schemas {
	return jsonschema.NewSchemas(map[string]*jsonschema.Schema{
		jsonschema.IDName: {
			Description: "An id: a number or its digits as text, as the PHP extension has it in each place. Requests accept both",
			AnyOf:       []*jsonschema.Schema{{Type: jsonschema.Integer, Minimum: jsonschema.Bound("0")}, {Type: jsonschema.String, Pattern: "^[0-9]+$"}}, GoType: "json.Number",
		},
		jsonschema.IDOrAnyName: {
			Description: "An id, or the word any",
			AnyOf:       []*jsonschema.Schema{{Type: jsonschema.Integer, Minimum: jsonschema.Bound("-1")}, {Type: jsonschema.String, Pattern: "^([0-9]+|any|-1)$"}}, GoType: "any",
		},
		writtenName: {
			Description: "Whether a failed write took effect",
			AnyOf:       []*jsonschema.Schema{{Type: jsonschema.Boolean}, {Type: jsonschema.String, Const: string(WriteUnknown)}},
		},
		priceName: {
			Description: "An amount that is not negative, as a number or as a text",
			AnyOf:       []*jsonschema.Schema{{Type: jsonschema.Number}, {Type: jsonschema.String, Pattern: pricePattern}}, GoType: "json.Number",
		},
		fieldName: {
			Description: "The value of a custom field: for several options a list, otherwise a text, a number, or on or off for a checkbox",
			AnyOf:       []*jsonschema.Schema{{Type: jsonschema.String}, {Type: jsonschema.Number}, {Type: jsonschema.Boolean}, {Type: jsonschema.Array, Items: &jsonschema.Schema{Type: jsonschema.String}}},
		},
	}, published)
}

// published is what the document says of our types.
var published = jsonschema.Published{
	Names: map[reflect.Type]string{
		reflect.TypeFor[anyError]():                    "Error",
		reflect.TypeFor[AgentName[string]]():           "ServiceAgent",
		reflect.TypeFor[AgentName[int64]]():            "ServiceDetailAgent",
		reflect.TypeFor[ServiceCategoryName[string]](): "ServiceCategoryName",
		reflect.TypeFor[ServiceCategoryName[int64]]():  "ServiceDetailCategory",
		reflect.TypeFor[writtenCoupon[int64]]():        "CreatedCoupon",
		reflect.TypeFor[writtenCoupon[string]]():       "UpdatedCoupon",
	},
	Samples: map[string][]any{
		"Change.record":       changedRecordSamples,
		"BulkResults.success": {[]BulkSuccess{}},
		"BulkResults.errors":  {[]BulkError{}},
		"Error.error":         {errorObject{}, ""},
		"ErrorData.details":   {map[string]string{}},
		"ErrorObject.details": {map[string]string{}, PermissionDetails{}, ConflictDetails{}, TimeOffDetails{}, PresentDetails{}},
	},
}

// ErrorSchema returns the schema of errors, whatever their shape.
func ErrorSchema(s *jsonschema.Schemas) *jsonschema.Schema { return s.Of(anyError{}) }
