package handlers

func listCategories(r *request) (response, error) {
	paging, err := r.view.CategoryPaging(r.query)
	if err != nil {
		return response{}, err
	}
	page, err := r.site.ServiceCategories(r.ctx(), paging)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.CategoryList(page)), nil
}
