/* On-CPU samples by a software clock: who runs, and its user and kernel stack by frame pointers. */
/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
#include "bpf/emit.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Frames of both stacks; a power of two, so that an index can be bounded by a mask. */
#define SCRATCH_FRAMES 256

struct scratch {
	u64 frames[SCRATCH_FRAMES];
};

/* The clock's interrupt does not nest in itself, so one a CPU is enough. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} sample_scratch SEC(".maps");

#define STACK_BYTES (CPROF_MAX_STACK_FRAMES * sizeof(u64))

/* The level that the clock's own interrupt interrupted. */
static __always_inline u8 interrupted_level(void)
{
	u32 count = 0;

	if (!read_preempt_count(&count))
		return CPROF_LEVEL_UNKNOWN;
	if (count & CPROF_COUNT_HARDIRQ)
		count -= 0x00010000;
	return level_of(count);
}

/* Fills scratch, user frames first, and returns user count | kernel count << 16. */
static __always_inline u32 walk(void *context, struct task_struct *current, struct scratch *scratch)
{
	u32 user_count = 0, kernel_count = 0, i;
	long size;

	if (config.sample_user_stack && current->mm) {
		size = bpf_get_stack(context, scratch->frames, STACK_BYTES, BPF_F_USER_STACK);
		if (size > 0)
			user_count = (u32)((u64)size >> 3) & 127;
	}
	if (config.sample_kernel_stack) {
		size = bpf_get_stack(context, &scratch->frames[user_count], STACK_BYTES, 0);
		if (size > 0)
			kernel_count = (u32)((u64)size >> 3) & 127;
		for (i = 0; i < CPROF_MAX_STACK_FRAMES && i < kernel_count; i++)
			scratch->frames[(user_count + i) & (SCRATCH_FRAMES - 1)] -=
			    config.kernel_base;
	}
	return user_count | kernel_count << 16;
}

SEC("?perf_event")
int sample__cpu(struct bpf_perf_event_data *context)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u32 cpu = bpf_get_smp_processor_id();
	u32 index = cpu * CPROF_PLANE_MAX + CPROF_PLANE_CONTEXT, zero = 0;
	struct cprof_wire_event event = {};
	struct cprof_stream_counters *stream;
	struct scratch *scratch;
	struct bpf_dynptr room;
	u32 counts, size;
	void *ring;

	if (!recording_here() || !current->pid || is_own((u32)current->tgid) ||
	    !task_is_target(current))
		return 0;
	stream = bpf_map_lookup_elem(&counters, &index);
	ring = bpf_map_lookup_elem(&context_rings, &cpu);
	scratch = bpf_map_lookup_elem(&sample_scratch, &zero);
	if (!stream || !ring || !scratch)
		return 0;
	counts = walk(context, current, scratch);
	size = ((counts & 127) + (counts >> 16 & 127)) * sizeof(u64);
	if (bpf_ringbuf_reserve_dynptr(ring, sizeof(event) + size, 0, &room)) {
		bpf_ringbuf_discard_dynptr(&room, BPF_RB_NO_WAKEUP);
		lose(stream, CPROF_SAMPLE_CPU, 0, 0);
		return 0;
	}
	event.time_ns = bpf_ktime_get_ns();
	event.sequence = (u32)__sync_fetch_and_add(&stream->attempted, 1);
	event.arg = config.sample_weight_ns;
	event.arg2 = counts;
	event.start_time_ns = current->start_time;
	event.tid = (u32)current->pid;
	event.tgid = (u32)current->tgid;
	event.verb = CPROF_SAMPLE_CPU;
	event.level = interrupted_level();
	bpf_dynptr_write(&room, 0, &event, sizeof(event), 0);
	if (size)
		bpf_dynptr_write(&room, sizeof(event), scratch->frames, size, 0);
	bpf_ringbuf_submit_dynptr(&room, BPF_RB_NO_WAKEUP);
	return 0;
}
