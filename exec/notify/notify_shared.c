#include "exec/notify/notify_shared.h"

#include "base/loop.h"

void notify_shared_begin(struct notify_shared *shared, uint64_t request, int error)
{
	__atomic_store_n(&shared->error, error, __ATOMIC_SEQ_CST);
	__atomic_store_n(&shared->request, request, __ATOMIC_SEQ_CST);
	__atomic_store_n(&shared->since_ms, loop_clock_ms(), __ATOMIC_SEQ_CST);
}

void notify_shared_end(struct notify_shared *shared)
{
	__atomic_store_n(&shared->since_ms, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&shared->request, 0, __ATOMIC_SEQ_CST);
}
