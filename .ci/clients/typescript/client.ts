// Lists agents, finds a free time, books it, meets the conflict of a second booking, cancels and follows the
// changes, with the types that openapi-typescript generated from the document.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };
const [, , baseUrl = "", key = ""] = process.argv;
const client = createClient<paths>({ baseUrl, headers: { "X-API-Key": key } });

function found<T>(what: string, { data, error }: { data?: T | undefined; error?: components["schemas"]["Error"] | undefined }): T {
  if (data === undefined || error) throw new Error(`${what}: ${JSON.stringify(error)}`);
  return data;
}

const now = found("changes", await client.GET("/changes"));
const services = found("services", await client.GET("/services", { params: { query: { per_page: 1 } } }));
const service: components["schemas"]["ID"] = services.data[0]?.id ?? 0;

const day = new Date(Date.now() + 50 * 86400e3);
while (day.getUTCDay() !== 3) day.setUTCDate(day.getUTCDate() + 1);
const date = day.toISOString().slice(0, 10);
const times = found("free times", await client.GET("/availability", { params: { query: { service_id: service, agent_id: "any", date, with: ["agents"] } } }));
if (!("slots" in times.data)) throw new Error("free times of several days");
const start = times.data.slots[0];
const agent = start?.agents?.[0];
if (!start || !agent) throw new Error(`no free time on ${date}: ${JSON.stringify(times)}`);

const slot = {
  service_id: service, agent_id: agent, start_date: date, start_time: start.start_time,
  customer: { first_name: "Ada", last_name: "Byron", email: "typescript@example.com" },
};
const created = await client.POST("/bookings", { body: slot });
if (created.response.status !== 201) throw new Error(JSON.stringify(created.error));
const booking: components["schemas"]["BookingDetail"] = found("book", created).data;

const second = await client.POST("/bookings", { body: { ...slot, customer: { ...slot.customer, email: "other@example.com" } } });
const refusal: components["schemas"]["Error"] | undefined = second.error;
const conflict = typeof refusal?.error === "object" ? refusal.error : undefined;
const details = conflict?.details as components["schemas"]["ConflictDetails"] | undefined;
if (second.response.status !== 409 || conflict?.code !== "time_slot_unavailable" || details?.conflicting_booking_id !== booking.id)
  throw new Error(`second booking: ${JSON.stringify(second)}`);

const list = found("list", await client.GET("/bookings", { params: { query: { date_from: date, date_to: date } } }));
if (!list.data.some((one) => one.booking_code === booking.booking_code)) throw new Error("the booking is not in the list");

const cancelled = found("cancel", await client.POST("/bookings/{id}/cancel", { params: { path: { id: booking.id } }, body: {} }));
if (cancelled.data.status !== "cancelled") throw new Error(JSON.stringify(cancelled));

const kinds: components["schemas"]["Change"]["kind"][] = [];
for (let tries = 0, cursor = now.cursor; kinds.length < 2 && tries < 10; tries++) {
  const changes = found("changes", await client.GET("/changes", { params: { query: { cursor, wait: 5, include: ["record"] } } }));
  kinds.push(...changes.data.filter((one) => one.resource === "bookings" && one.resource_id === booking.id).map((one) => one.kind));
  cursor = changes.cursor;
}
if (kinds.join() !== "created,updated") throw new Error(`changes of the booking: ${kinds}`);
console.log(`typescript: booked ${start.start_time} with agent ${agent}, met ${conflict.code}, cancelled booking ${booking.id}, followed ${kinds}`);
