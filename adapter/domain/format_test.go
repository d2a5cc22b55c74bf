package domain

import (
	"fmt"
	"testing"

	"github.com/shopspring/decimal"
)

func ExampleAmountText() {
	fmt.Println(AmountText(decimal.RequireFromString("80")))
	fmt.Println(AmountText(decimal.RequireFromString("-12.5")))
	// Output:
	// 80.0000
	// -12.5000
}

func ExampleOffsetText() {
	fmt.Println(OffsetText("2026-11-22 09:30:00"))
	fmt.Printf("%q\n", OffsetText("0000-00-00 00:00:00"))
	// Output:
	// 2026-11-22T09:30:00+00:00
	// ""
}

func ExampleValueOr() {
	minutes := 45
	fmt.Println(ValueOr(&minutes, 60), ValueOr(nil, 60))
	// Output: 45 60
}

func TestOptionalIDTextOfNULLIsNil(t *testing.T) {
	t.Parallel()
	id := int64(7)
	if got := OptionalIDText(&id); got == nil || *got != "7" {
		t.Errorf("7 is %v", got)
	}
	if got := OptionalIDText(nil); got != nil {
		t.Errorf("NULL is %s", *got)
	}
}
