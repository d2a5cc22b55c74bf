//go:build !unix

package setup

func (h *Host) lock() (unlock func() error, err error) { return func() error { return nil }, nil }
