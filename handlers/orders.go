package handlers

import (
	"bookside/adapter"
	"bookside/compat"
)

func listOrders(r *request) (response, error) {
	filter, err := r.view.OrderFilter(r.query)
	if err != nil {
		return response{}, err
	}
	page, err := r.site.Orders(r.ctx(), filter)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.OrderList(page)), nil
}

func getOrder(r *request) (response, error) {
	id, err := r.id("id", adapter.OrderResource)
	if err != nil {
		return response{}, err
	}
	order, err := r.site.Order(r.ctx(), id)
	if err != nil {
		return response{}, err
	}
	items, err := r.site.OrderItems(r.ctx(), id)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.OrderDetail(order, items)), nil
}

func listTransactions(r *request) (response, error) {
	id, err := r.id("id", adapter.OrderResource)
	if err != nil {
		return response{}, err
	}
	paging, err := r.view.SubPaging(r.query)
	if err != nil {
		return response{}, err
	}
	page, err := r.site.OrderTransactions(r.ctx(), id, paging)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.PaymentList(page)), nil
}

func getTransaction(r *request) (response, error) {
	order, err := r.id("id", adapter.OrderResource)
	if err != nil {
		return response{}, err
	}
	id, err := r.id("transaction_id", adapter.TransactionResource)
	if err != nil {
		return response{}, err
	}
	transaction, err := r.site.OrderPayment(r.ctx(), order, id)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.Transaction(transaction)), nil
}

func createOrder(r *request) (response, error) {
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	order := adapter.NewOrder{OrderPatch: compat.OrderPatch(body), Address: r.echo.RealIP()}
	return create(r, order, (*adapter.Site).CreateOrder, r.view.OrderWritten)
}

func updateOrder(r *request) (response, error) {
	id, err := r.id("id", adapter.OrderResource)
	if err != nil {
		return response{}, err
	}
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	order, err := r.site.UpdateOrder(r.ctx(), id, compat.OrderPatch(body))
	if err != nil {
		return response{}, err
	}
	return ok(r.view.OrderWritten(order)), nil
}
