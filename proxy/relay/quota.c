#include "proxy/relay/quota.h"

bool quota_take(struct quota *quota, int64_t now_ms)
{
	int64_t back = (now_ms - quota->since_ms) / QUOTA_PROPOSAL_MS;

	if (back >= quota->used) {
		quota->used = 0;
		quota->since_ms = now_ms;
	} else if (back > 0) {
		quota->used -= (unsigned int)back;
		quota->since_ms += back * QUOTA_PROPOSAL_MS;
	}
	if (quota->used >= QUOTA_PROPOSALS)
		return false;
	quota->used++;
	return true;
}
