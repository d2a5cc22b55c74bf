package slots

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Choice is an agent, a service or a location with the name that people know it by.
type Choice struct {
	ID   int64
	Name string
}

func (c Choice) String() string { return strings.TrimSpace(strconv.FormatInt(c.ID, 10) + " " + c.Name) }

// Choices returns all agents, services or locations, by id.
func Choices(ctx context.Context, s *session.Session, resource domain.Resource) ([]Choice, error) {
	stmt := sq.Select("id", "name", "NULL")
	switch resource {
	case domain.AgentResource:
		stmt = sq.Select("id", "first_name", "last_name").From(s.DB.Name(wpdb.Agents))
	case domain.ServiceResource:
		stmt = stmt.From(s.DB.Name(wpdb.Services))
	default:
		stmt = stmt.From(s.DB.Name(wpdb.Locations))
	}
	return wpdb.All(ctx, s.DB, "list names", stmt.OrderBy("id"), scanChoice)
}

// scanChoice reads an id and both parts of a name.
func scanChoice(row wpdb.Scanner) (c Choice, err error) {
	var first, last string
	err = row.Scan(&c.ID, wpdb.OrZero(&first), wpdb.OrZero(&last))
	c.Name = strings.TrimSpace(first + " " + last)
	return c, err
}

// ChoiceError is the error for a text that matches none of the choices or several of them. Its message is
// for the author of the text.
type ChoiceError struct{ message string }

func (e *ChoiceError) Error() string { return e.message }

// RequireChoices returns a CodeValidationFailed that names the first of the agents, services and
// locations that does not exist.
func RequireChoices(ctx context.Context, s *session.Session, named domain.Scope) error {
	for _, part := range []struct {
		resource domain.Resource
		ids      []int64
		field    string
	}{{domain.AgentResource, named.Agents, "agents"}, {domain.ServiceResource, named.Services, "services"}, {domain.LocationResource, named.Locations, "locations"}} {
		if len(part.ids) == 0 {
			continue
		}
		all, err := Choices(ctx, s, part.resource)
		if err != nil {
			return err
		}
		for _, id := range part.ids {
			if !slices.ContainsFunc(all, func(c Choice) bool { return c.ID == id }) {
				return domain.ValidationFailed(map[string]string{part.field: fmt.Sprintf("There is no %s %d", part.resource, id)})
			}
		}
	}
	return nil
}

// Numbers converts a list of ids or names into one of ids. The word keys.AnyID and an empty text are
// returned unchanged. A name that does not exist, or that several have, is a *ChoiceError that lists the
// choices.
func Numbers(ctx context.Context, s *session.Session, resource domain.Resource, text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == keys.AnyID {
		return text, nil
	}
	all, err := Choices(ctx, s, resource)
	if err != nil {
		return "", err
	}
	return choose(resource, all, text)
}

func choose(resource domain.Resource, all []Choice, text string) (string, error) {
	words := strings.Split(text, ",")
	if slices.ContainsFunc(all, func(c Choice) bool { return strings.EqualFold(c.Name, text) }) {
		words = []string{text} // a name with a comma
	}
	ids := make([]string, len(words))
	for i, word := range words {
		word = strings.TrimSpace(word)
		found := choicesNamed(all, word)
		switch {
		case len(found) == 1:
			ids[i] = strconv.FormatInt(found[0].ID, 10)
		case len(found) > 1:
			return "", &ChoiceError{fmt.Sprintf("several %ss have the name %q; write the id of one: %s", resource, word, listChoices(found))}
		case len(all) == 0:
			return "", &ChoiceError{fmt.Sprintf("there is no %s %q, nor any other", resource, word)}
		default:
			missing := fmt.Sprintf("%q", word)
			if _, err := strconv.Atoi(word); err == nil {
				missing = "with the ID " + word
			}
			return "", &ChoiceError{fmt.Sprintf("there is no %s %s; write ids or names of these: %s", resource, missing, listChoices(all))}
		}
	}
	return strings.Join(ids, ","), nil
}

// choicesNamed returns the choices with an id or a name; an id takes precedence over a name of the same
// digits.
func choicesNamed(all []Choice, word string) []Choice {
	id, err := strconv.ParseInt(word, 10, 64)
	for _, c := range all {
		if err == nil && c.ID == id {
			return []Choice{c}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c Choice) bool { return word == "" || !strings.EqualFold(c.Name, word) })
}

// maxListed is how many choices a message lists.
const maxListed = 30

func listChoices(all []Choice) string {
	texts := make([]string, 0, maxListed+1)
	for i, c := range all {
		if i == maxListed {
			texts = append(texts, fmt.Sprintf("and %d more", len(all)-maxListed))
			break
		}
		texts = append(texts, c.String())
	}
	return strings.Join(texts, ", ")
}
