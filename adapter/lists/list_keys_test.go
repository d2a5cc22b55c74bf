package lists

import (
	"testing"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/session"
)

// TestListsOfFiltersThatLookAlike: lists are counted together only if their filters are equal, not if they
// merely look alike when printed.
func TestListsOfFiltersThatLookAlike(t *testing.T) {
	t.Parallel()
	keys := map[string][]any{}
	for _, args := range [][]any{
		{"a b", "c"}, {"a", "b c"}, {"a,b", "c"}, {`a","b`, "c"}, {"1", "c"}, {1, "c"}, {int64(2), "c"}, {uint64(2), "c"}, {nil, "c"}, {"<nil>", "c"}, {true, "c"}, {"true", "c"},
	} {
		key, err := listKey((&session.Session{}), List{Filter: sq.Select().From("t").Where("a = ?", args[0]).Where("b = ?", args[1])})
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := keys[key]; taken {
			t.Errorf("%#v and %#v have the same key %s", args, other, key)
		}
		keys[key] = args
	}
}
