package extensions

import (
	"maps"
	"slices"
)

// hooks are the filters and actions of LatePoint 5.6.5 through which a plugin takes part in bookings.
// LatePoint fires all of them, unlike many that old plugins still listen to. Hooks for payments, which are
// made on the site's pages, and for those pages are not among them.
var hooks = bySubject(map[Subject][]string{
	Times: {
		"latepoint_agent_ids_assignable_to_any_agent_booking", "latepoint_blocked_periods_for_range", "latepoint_calculated_total_duration",
		"latepoint_create_booking_request_from_booking_model", "latepoint_get_any_agent_id_for_booking_by_rule", "latepoint_get_booked_periods",
		"latepoint_get_resources_grouped_by_day", "latepoint_get_timeslot_blocking_statuses",
	},
	Prices: {
		"latepoint_calculate_full_amount_for_booking", "latepoint_cart_calculate_prices", "latepoint_cart_get_coupon_code", "latepoint_cart_get_coupon_discount",
		"latepoint_cart_get_subtotal", "latepoint_cart_get_tax_total", "latepoint_cart_get_total", "latepoint_cart_item_full_amount_to_charge",
		"latepoint_cart_item_get_coupon_code", "latepoint_cart_item_get_coupon_discount", "latepoint_cart_item_get_subtotal", "latepoint_cart_item_get_tax_total",
		"latepoint_cart_item_get_total", "latepoint_cart_price_breakdown_rows", "latepoint_deposit_amount_for_bundle", "latepoint_deposit_amount_for_service",
		"latepoint_full_amount_for_bundle", "latepoint_full_amount_for_service", "latepoint_order_item_full_amount_to_charge", "latepoint_order_item_get_coupon_code",
		"latepoint_order_item_get_coupon_discount", "latepoint_order_item_get_subtotal", "latepoint_order_item_get_tax_total", "latepoint_order_item_get_total",
		"latepoint_order_item_recalculate_prices", "latepoint_price_breakdown_service_row_for_booking", "latepoint_price_breakdown_service_row_for_bundle",
	},
	Acceptance: {"latepoint_customer_model_validations", "latepoint_model_validate", "latepoint_process_step"},
	Records: {
		"latepoint_before_order_intent_save_from_cart", "latepoint_before_order_save_from_order_intent", "latepoint_before_transaction_save_from_transaction_intent",
		"latepoint_generated_params_for_booking_form", "latepoint_get_default_order_status", "latepoint_invoices_data_from_order", "latepoint_model_allowed_params",
		"latepoint_model_prepare_set_data", "latepoint_model_save", "latepoint_model_set_data", "set_order_intent_data_from_cart",
	},
	Messages: {
		"latepoint_model_view_as_data", "latepoint_model_view_as_first_level_data", "latepoint_notifications_send_email", "latepoint_notifications_send_sms",
		"latepoint_notifications_send_whatsapp", "latepoint_prepare_replacement_vars_from_agent", "latepoint_prepare_replacement_vars_from_booking",
		"latepoint_prepare_replacement_vars_from_customer", "latepoint_prepare_replacement_vars_from_data_objects", "latepoint_prepare_replacement_vars_from_invoice",
		"latepoint_prepare_replacement_vars_from_order", "latepoint_prepare_replacement_vars_from_payment_request", "latepoint_prepare_replacement_vars_from_transaction",
		"latepoint_process_action_run", "latepoint_process_prepare_data_for_run", "latepoint_replace_agent_vars", "latepoint_replace_all_vars_in_template",
		"latepoint_replace_booking_vars", "latepoint_replace_business_vars", "latepoint_replace_customer_vars", "latepoint_replace_order_vars",
		"latepoint_replace_payment_request_vars", "latepoint_replace_tracking_vars", "latepoint_replace_transaction_vars",
	},
	Reactions: {
		"latepoint_booking_change_status", "latepoint_booking_created", "latepoint_booking_deleted", "latepoint_booking_updated", "latepoint_booking_will_be_deleted",
		"latepoint_customer_created", "latepoint_customer_updated", "latepoint_invoice_created", "latepoint_invoice_status_changed", "latepoint_invoice_updated",
		"latepoint_model_deleted", "latepoint_order_created", "latepoint_order_intent_converted", "latepoint_order_item_deleted", "latepoint_order_item_will_be_deleted",
		"latepoint_order_updated", "latepoint_payment_request_created", "latepoint_transaction_created", "latepoint_transaction_refund_created",
	},
})

// unasked are hooks that WordPress does not run when asked: those of its form, of bundles, and of order
// items, which the API does not price.
var unasked = []string{
	"latepoint_customer_model_validations", "latepoint_process_step",
	"latepoint_deposit_amount_for_bundle", "latepoint_full_amount_for_bundle", "latepoint_order_item_full_amount_to_charge", "latepoint_order_item_get_coupon_code",
	"latepoint_order_item_get_coupon_discount", "latepoint_order_item_get_subtotal", "latepoint_order_item_get_tax_total", "latepoint_order_item_get_total",
	"latepoint_order_item_recalculate_prices", "latepoint_price_breakdown_service_row_for_bundle",
}

// askableHook reports whether WordPress can be asked about the decisions of a hook's listeners.
func askableHook(hook string) bool { return askable(hooks[hook]) && !slices.Contains(unasked, hook) }

// askable reports whether WordPress can be asked about a subject.
func askable(s Subject) bool { return s == Times || s == Prices || s == Acceptance }

// Hooks returns the names of the relevant hooks.
func Hooks() []string { return slices.Sorted(maps.Keys(hooks)) }

func bySubject(lists map[Subject][]string) map[string]Subject {
	subjects := map[string]Subject{}
	for subject, list := range lists {
		for _, hook := range list {
			subjects[hook] = subject
		}
	}
	return subjects
}
