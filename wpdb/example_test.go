package wpdb_test

import (
	"fmt"

	"github.com/bookside/bookside/wpdb"
)

// WordPress stores the roles of a user as a serialised array.
func ExampleUnserializePHP() {
	value, err := wpdb.UnserializePHP(`a:2:{s:10:"subscriber";b:1;s:18:"latepoint_customer";b:1;}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for role, granted := range value.(*wpdb.PHPArray).All() {
		fmt.Println(role, granted)
	}
	// Output:
	// subscriber true
	// latepoint_customer true
}
