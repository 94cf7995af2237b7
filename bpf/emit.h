/* How a program puts an event into the rings: filter, interrupt level, keys, emit, loss. */
/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
#ifndef CPROF_BPF_EMIT_H_
#define CPROF_BPF_EMIT_H_

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/event.h"

/* All defined in rings.bpf.c. */
extern const volatile struct cprof_config config;
extern const volatile u8 cpu_wanted[CPROF_MAX_CPUS];
extern struct cprof_control control;
extern u64 percpu_base[CPROF_MAX_CPUS];

struct cprof_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct cprof_rings {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct cprof_ring);
};

struct cprof_counters {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cprof_stream_counters);
};

/* An entry counts for its process or thread; the value is not used. */
struct cprof_targets {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536); /* twice the default pid_max of small machines */
	__type(key, u32);
	__type(value, u8);
};

extern struct cprof_rings edge_rings SEC(".maps");
extern struct cprof_rings context_rings SEC(".maps");
extern struct cprof_counters counters SEC(".maps"); /* index: cpu * 2 + plane */
extern struct cprof_targets target_processes SEC(".maps");
extern struct cprof_targets target_threads SEC(".maps");

/*
 * One object alone says that this is a kfunc (__ksym): libbpf's linker before 1.6 refuses a kfunc
 * that two objects declare so. The linker gives the others the section of the one.
 */
#ifdef CPROF_DECLARES_KFUNCS
extern void *bpf_rdonly_cast(void *object, __u32 btf_id) __ksym __weak;
#else
extern void *bpf_rdonly_cast(void *object, __u32 btf_id) __weak;
#endif

/* An untyped kernel pointer as a typed one that can be read without bpf_probe_read_kernel, which
 * lockdown=confidentiality refuses. Only under config.has_rdonly_cast. */
#define CPROF_CAST(type, pointer)                                                                  \
	((type *)bpf_rdonly_cast((void *)(pointer), bpf_core_type_id_kernel(type)))

/* Whether this CPU records at all right now. */
static __always_inline bool recording_here(void)
{
	if (!control.gate)
		return false;
	if (config.cpu_filter && !cpu_wanted[bpf_get_smp_processor_id() & (CPROF_MAX_CPUS - 1)])
		return false;
	return true;
}

static __always_inline bool is_own(u32 tgid)
{
	return tgid == config.self_tgid;
}

/* In rings.bpf.c: the slow ways, as functions of their own, verified once. */
bool is_listed(u32 tgid, u32 tid);
u64 find_percpu_base(u32 cpu);
int lose(struct cprof_stream_counters *stream, u32 verb, u64 key, u64 key2);

static __always_inline bool is_target(u32 tgid, u32 tid)
{
	if (config.system_wide)
		return !is_own(tgid);
	if (tgid == control.single_tgid)
		return true;
	if (!control.more_targets)
		return false;
	return is_listed(tgid, tid);
}

static __always_inline bool task_is_target(const struct task_struct *task)
{
	return is_target((u32)task->tgid, (u32)task->pid);
}

/*
 * How far a kernel object is from control, a variable of ours. The verifier lets a program compute
 * with a typed pointer in one way only: the difference of two pointers is a number.
 */
static __always_inline u64 distance_of(const void *object)
{
	u64 distance = (u64)object;

	asm volatile("%0 -= %1" : "+r"(distance) : "r"(&control));
	return distance;
}

/* The number that a typed pointer is. */
static __always_inline u64 address_of(const void *object)
{
	return distance_of(object) + control.self_address;
}

/*
 * Kernel objects appear as ids of this recording: a keyed bijection of their distance from control.
 * Equal stays equal, and no address leaves the kernel, unless the recorder asked for raw keys.
 */
static __always_inline u64 mix_key(u64 distance)
{
	u64 key = distance;

	if (!config.key_secret[1])
		return key + control.self_address;
	key ^= config.key_secret[0];
	key *= config.key_secret[1];
	key ^= key >> 32;
	key *= config.key_secret[2];
	return key;
}

/* The key of an object by a typed pointer; NULL stays 0. */
static __always_inline u64 object_key(const void *object)
{
	return object ? mix_key(distance_of(object)) : 0;
}

/*
 * The same number, to the verifier too. Newer kernels (seen on 6.18) follow a void * of the kernel
 * as a pointer to memory whatever is computed from it, and refuse to combine two such; halves they
 * let go.
 */
static __always_inline u64 number_of(u64 address)
{
	u64 shifted = address;
	u32 low = (u32)address;
	u32 high;

	asm volatile("%0 >>= 32" : "+r"(shifted));
	high = (u32)shifted;
	asm volatile("%0 = %0" : "+w"(low));
	asm volatile("%0 = %0" : "+w"(high));
	return (u64)high << 32 | low;
}

/* The same for an address without a type, what hooks call void *: a number, or nearly so. */
static __always_inline u64 address_key(u64 address)
{
	return address ? mix_key(number_of(address) - control.self_address) : 0;
}

static __always_inline u32 read_percpu_u32(u64 base, u32 offset)
{
	u32 value = 0;

	if (config.has_rdonly_cast)
		return (u32)CPROF_CAST(struct refcount_struct, base + offset)->refs.counter;
	bpf_probe_read_kernel(&value, sizeof(value), (void *)(base + offset));
	return value;
}

/* Says of a CPU that its per-CPU area was not found. */
#define CPROF_NO_BASE 1

/* preempt_count of this CPU; false where it cannot be reached. */
static __always_inline bool read_preempt_count(u32 *count)
{
	u32 cpu = bpf_get_smp_processor_id();
	u64 base = percpu_base[cpu & (CPROF_MAX_CPUS - 1)];

	if (!config.preempt_count_offset)
		return false;
	if (!base)
		base = find_percpu_base(cpu);
	if (base == CPROF_NO_BASE)
		return false;
	*count = read_percpu_u32(base, config.preempt_count_offset);
	return true;
}

/* Bits of preempt_count, the same from 6.1 to 6.18. Bit 8 alone tells serving a softirq; the rest
 * of that byte counts sections with softirqs disabled, which are task context. */
#define CPROF_COUNT_NMI 0x00f00000
#define CPROF_COUNT_HARDIRQ 0x000f0000
#define CPROF_COUNT_SOFTIRQ 0x00000100

static __always_inline u8 level_of(u32 count)
{
	if (count & CPROF_COUNT_NMI)
		return CPROF_LEVEL_NMI;
	if (count & CPROF_COUNT_HARDIRQ)
		return CPROF_LEVEL_HARDIRQ;
	if (count & CPROF_COUNT_SOFTIRQ)
		return CPROF_LEVEL_SOFTIRQ;
	return CPROF_LEVEL_TASK;
}

static __always_inline u8 current_level(void)
{
	u32 count = 0;

	return read_preempt_count(&count) ? level_of(count) : CPROF_LEVEL_UNKNOWN;
}

/*
 * Begins one event of the edge plane for task, which is the current one; NULL where it was lost.
 * The time is taken and the sequence number spent after the reservation: then a ring that was
 * drained to a producer position holds everything older than the reading of it. The recorder
 * itself, interrupted, is shown as nobody.
 */
static __always_inline struct cprof_wire_event *begin_event(const struct task_struct *task, u8 verb,
							    u8 level, u64 key, u64 key2, u64 arg,
							    u64 arg2)
{
	u32 cpu = bpf_get_smp_processor_id();
	u32 index = cpu * CPROF_PLANE_MAX + CPROF_PLANE_EDGE;
	struct cprof_stream_counters *stream = bpf_map_lookup_elem(&counters, &index);
	void *ring = bpf_map_lookup_elem(&edge_rings, &cpu);
	struct cprof_wire_event *event;
	u32 tgid;

	if (!stream || !ring)
		return NULL;
	event = bpf_ringbuf_reserve(ring, sizeof(*event), 0);
	if (!event) {
		lose(stream, verb, key, key2);
		return NULL;
	}
	event->time_ns = bpf_ktime_get_ns();
	event->sequence = (u32)__sync_fetch_and_add(&stream->attempted, 1);
	event->key = key;
	event->key2 = key2;
	event->arg = arg;
	event->arg2 = arg2;
	tgid = (u32)task->tgid;
	if (is_own(tgid)) {
		event->start_time_ns = 0;
		event->tid = 0;
		event->tgid = 0;
	} else {
		event->start_time_ns = task->start_time;
		event->tid = (u32)task->pid;
		event->tgid = tgid;
	}
	event->verb = verb;
	event->level = level;
	event->flags = 0;
	return event;
}

/* Ends it; returns its time. */
static __always_inline u64 end_event(struct cprof_wire_event *event)
{
	u64 now_ns = event->time_ns;

	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return now_ns;
}

/* Emits one event; returns its time, 0 where it was lost. */
static __always_inline u64 emit(const struct task_struct *task, u8 verb, u8 level, u64 key,
				u64 key2, u64 arg, u64 arg2)
{
	struct cprof_wire_event *event = begin_event(task, verb, level, key, key2, arg, arg2);

	return event ? end_event(event) : 0;
}

static __always_inline u64 thread_key2(const struct task_struct *task)
{
	return CPROF_THREAD_KEY2(task->pid, task->tgid);
}

#endif /* CPROF_BPF_EMIT_H_ */
