package payments

import (
	"hash/crc32"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
)

// LocksOfCoupon returns the lock for a coupon's code, and none for nil or an empty text.
func LocksOfCoupon(code *string) []session.Lock {
	stored := CouponCode(text.Field(domain.ValueOr(code, "")))
	if stored == "" {
		return nil
	}
	return []session.Lock{session.LockOf(session.CouponLock, int64(crc32.ChecksumIEEE([]byte(stored))))}
}
