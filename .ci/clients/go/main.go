// Creates a booking and finds it, with the client that oapi-codegen generated from the document.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
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
	withKey := WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("X-API-Key", key)
		return nil
	})
	client, err := NewClientWithResponses(base, withKey)
	if err != nil {
		return err
	}
	day := time.Now().AddDate(0, 0, 50)
	for day.Weekday() != time.Thursday {
		day = day.AddDate(0, 0, 1)
	}
	date := types.Date{Time: day}
	var body CreateBookingBody
	description := fmt.Sprintf(`{"service_id":2,"agent_id":1,"start_date":%q,"start_time":"09:00","customer":{"first_name":"Ada","last_name":"Byron","email":"ada@example.com"}}`, date)
	if err := json.Unmarshal([]byte(description), &body); err != nil {
		return err
	}
	created, err := client.CreateBookingWithResponse(ctx, nil, body)
	if err != nil {
		return err
	}
	if created.JSON201 == nil {
		return fmt.Errorf("create a booking: %s: %s", created.Status(), created.Body)
	}
	list, err := client.ListBookingsWithResponse(ctx, &ListBookingsParams{DateFrom: &date, DateTo: &date})
	if err != nil {
		return err
	}
	if list.JSON200 == nil {
		return fmt.Errorf("list bookings: %s: %s", list.Status(), list.Body)
	}
	for _, booking := range list.JSON200.Data {
		if booking.BookingCode == created.JSON201.Data.BookingCode && booking.StartTime == "09:00" {
			fmt.Println("go: created and found booking", booking.Id)
			return nil
		}
	}
	return fmt.Errorf("the booking is not in the list: %s", list.Body)
}
