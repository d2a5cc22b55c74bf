package sanitize_test

import (
	"fmt"

	"github.com/bookside/bookside/adapter/sanitize"
)

func ExampleTextField() {
	fmt.Printf("%q\n", sanitize.TextField(" Jane <script>alert(1)</script>\n <b>Doe</b>%20"))
	// Output: "Jane Doe"
}

func ExampleTextareaField() {
	fmt.Printf("%q\n", sanitize.TextareaField("First <i>line</i>\nSecond line"))
	// Output: "First line\nSecond line"
}

func ExamplePhone() {
	fmt.Println(sanitize.Phone("+49 (30) 1234-567"))
	// Output: +49301234567
}

func ExampleValidEmail() {
	fmt.Println(sanitize.ValidEmail("jane@example.com"), sanitize.ValidEmail("jane%20doe@example.com"))
	// Output: true false
}
