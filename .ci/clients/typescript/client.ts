// Creates a booking and finds it, with the types that openapi-typescript generated from the document.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };
const [, , baseUrl = "", key = ""] = process.argv;
const client = createClient<paths, "application/json">({ baseUrl, headers: { "X-API-Key": key } });

const day = new Date(Date.now() + 50 * 86400e3);
while (day.getUTCDay() !== 3) day.setUTCDate(day.getUTCDate() + 1);
const date = day.toISOString().slice(0, 10);
const created = await client.POST("/bookings", {
  body: { service_id: 2, agent_id: 1, start_date: date, start_time: "09:00", customer: { first_name: "Ada", last_name: "Byron", email: "ada@example.com" } },
});
if (created.error || created.response.status !== 201) throw new Error(JSON.stringify(created.error));

const list = await client.GET("/bookings", { params: { query: { date_from: date, date_to: date } } });
if (list.error) throw new Error(JSON.stringify(list.error));
const bookings: components["schemas"]["Booking"][] = list.data.data;
const found = bookings.find((booking) => booking.booking_code === created.data.data.booking_code);
if (found?.start_time !== "09:00") throw new Error(JSON.stringify(list.data));
console.log(`typescript: created and found booking ${found.id}`);
