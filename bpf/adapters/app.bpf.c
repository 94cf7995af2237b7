/* app: in-process rings announce themselves here; their events never pass through the kernel. */
/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
#include "bpf/emit.h"

#include "bpf/adapters/app.h"

/* One for all CPUs: an announcement is rare, once a thread. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* some 11,000 announcements between two sweeps */
} app_announcements SEC(".maps");

/* How many found it full. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} app_lost SEC(".maps");

static __always_inline void announce(u32 kind, u64 region, u64 size_bytes, u64 announcement,
				     u64 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cprof_app_announcement *record;
	u32 tgid = (u32)task->tgid, zero = 0;
	u64 *lost;

	if (is_own(tgid))
		return;
	record = bpf_ringbuf_reserve(&app_announcements, sizeof(*record), 0);
	if (!record) {
		lost = bpf_map_lookup_elem(&app_lost, &zero);
		if (lost)
			__sync_fetch_and_add(lost, 1);
		return;
	}
	record->time_ns = bpf_ktime_get_ns();
	record->region = region;
	record->size_bytes = size_bytes;
	record->announcement = announcement;
	record->start_time_ns = task->start_time;
	record->process_start_ns = task->group_leader->start_time;
	record->tid = (u32)task->pid;
	record->tgid = tgid;
	record->kind = kind;
	record->is_target = is_target(tgid, record->tid);
	bpf_ringbuf_submit(record, flags);
}

/* At cprof_probe_v1_ of cprof.h. A first owner wakes the recorder at once: it must get hold of the
 * memory before a short process ends. */
SEC("?uprobe")
int app__ring(struct pt_regs *ctx)
{
	u64 region = ctx->di, size_bytes = ctx->si, announcement = ctx->dx;
	bool first = (announcement & 0xffffffffffffULL) <= 1;

	announce(size_bytes ? CPROF_APP_RING_OWNER : CPROF_APP_NO_REGION, region, size_bytes,
		 announcement, first ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(app__exec, struct task_struct *task)
{
	if (task_is_target(task))
		announce(CPROF_APP_EXEC, 0, 0, 0, BPF_RB_FORCE_WAKEUP);
	return 0;
}
