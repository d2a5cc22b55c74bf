// Lists services, finds a free time, books it, meets the conflict of a second booking, cancels and follows
// the changes, with the client that oapi-codegen generated from the document.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/oapi-codegen/runtime/types"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "go:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, base, key string) error {
	withHeaders := WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("X-API-Key", key)
		return nil
	})
	client, err := NewClientWithResponses(base, withHeaders)
	if err != nil {
		return err
	}
	now, err := client.ListChangesWithResponse(ctx, nil)
	if err != nil {
		return err
	}
	if now.JSON200 == nil {
		return fmt.Errorf("changes: %s", now.Body)
	}
	services, err := client.ListServicesWithResponse(ctx, &ListServicesParams{PerPage: new(1)})
	if err != nil {
		return err
	}
	if services.JSON200 == nil {
		return fmt.Errorf("services: %s", services.Body)
	}
	service := services.JSON200.Data[0].Id

	day := time.Now().AddDate(0, 0, 60)
	for day.Weekday() != time.Thursday {
		day = day.AddDate(0, 0, 1)
	}
	date, anybody := types.Date{Time: day}, IDOrAny("any")
	times, err := client.GetAvailabilityWithResponse(ctx, &GetAvailabilityParams{ServiceId: &service, AgentId: &anybody, Date: date, With: &[]GetAvailabilityParamsWith{"agents"}})
	if err != nil {
		return err
	}
	if times.JSON200 == nil {
		return fmt.Errorf("free times: %s", times.Body)
	}
	found, err := times.JSON200.AsAvailabilityResult()
	if err != nil {
		return err
	}
	free := found.Data
	if len(free.Slots) == 0 || free.Slots[0].Agents == nil {
		return fmt.Errorf("free times: %s", times.Body)
	}
	start, agent := free.Slots[0].StartTime, IDOrAny((*free.Slots[0].Agents)[0])

	book := func(email string) (*CreateBookingResponse, error) {
		customer := CreateBookingBodyCustomer{FirstName: "Ada", LastName: "Byron", Email: email}
		return client.CreateBookingWithResponse(ctx, nil, CreateBookingBody{ServiceId: &service, AgentId: &agent, StartDate: &date, StartTime: &start, Customer: &customer})
	}
	created, err := book("go@example.com")
	if err != nil {
		return err
	}
	if created.JSON201 == nil {
		return fmt.Errorf("book: %s", created.Body)
	}
	booking := created.JSON201.Data
	second, err := book("other@example.com")
	if err != nil {
		return err
	}
	if second.JSON409 == nil {
		return fmt.Errorf("second booking: %s", second.Body)
	}
	refusal, err := second.JSON409.Error.AsErrorObject()
	if err != nil {
		return err
	}
	conflict, err := refusal.Details.AsConflictDetails()
	if err != nil {
		return err
	}
	if refusal.Code != "time_slot_unavailable" || *conflict.ConflictingBookingId != booking.Id {
		return fmt.Errorf("second booking: %s", second.Body)
	}
	list, err := client.ListBookingsWithResponse(ctx, &ListBookingsParams{DateFrom: &date, DateTo: &date})
	if err != nil {
		return err
	}
	if list.JSON200 == nil {
		return fmt.Errorf("list: %s", list.Body)
	}
	if !slices.ContainsFunc(list.JSON200.Data, func(b Booking) bool { return b.BookingCode == booking.BookingCode }) {
		return fmt.Errorf("the booking is not in the list: %s", list.Body)
	}
	cancelled, err := client.CancelBookingWithResponse(ctx, booking.Id, nil, CancelBookingBody{})
	if err != nil {
		return err
	}
	if cancelled.JSON200 == nil || cancelled.JSON200.Data.Status != "cancelled" {
		return fmt.Errorf("cancel: %s", cancelled.Body)
	}
	cursor := now.JSON200.Cursor
	var kinds []ChangeKind
	for tries := 0; len(kinds) < 2 && tries < 10; tries++ {
		changes, err := client.ListChangesWithResponse(ctx, &ListChangesParams{Cursor: &cursor, Wait: new(5), Include: &[]ListChangesParamsInclude{"record"}})
		if err != nil {
			return err
		}
		if changes.JSON200 == nil {
			return fmt.Errorf("changes: %s", changes.Body)
		}
		for _, change := range changes.JSON200.Data {
			if change.Resource == "bookings" && change.ResourceId == booking.Id {
				kinds = append(kinds, change.Kind)
			}
		}
		cursor = changes.JSON200.Cursor
	}
	if !slices.Equal(kinds, []ChangeKind{"created", "updated"}) {
		return fmt.Errorf("changes of the booking: %s", kinds)
	}
	fmt.Printf("go: booked %s with agent %v, met %s, cancelled booking %s, followed %s\n", start, agent, refusal.Code, booking.Id, kinds)
	return nil
}
