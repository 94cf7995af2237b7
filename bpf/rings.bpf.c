/* Defines what all programs share: rings, counters, targets, configuration and control. */
/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
#define CPROF_DECLARES_KFUNCS
#include "bpf/emit.h"

const volatile struct cprof_config config = {};
const volatile u8 cpu_wanted[CPROF_MAX_CPUS] = {};
struct cprof_control control = {};
u64 percpu_base[CPROF_MAX_CPUS] = {};

struct cprof_rings edge_rings SEC(".maps");
struct cprof_rings context_rings SEC(".maps");
struct cprof_counters counters SEC(".maps");
struct cprof_targets target_processes SEC(".maps");
struct cprof_targets target_threads SEC(".maps");

char LICENSE[] SEC("license") = "Dual BSD/GPL";

__noinline bool is_listed(u32 tgid, u32 tid)
{
	return bpf_map_lookup_elem(&target_processes, &tgid) ||
	       bpf_map_lookup_elem(&target_threads, &tid);
}

/*
 * Finds this CPU's per-CPU area: the current thread's run queue lies in it at a known offset. It
 * takes no kallsyms, which lacks data symbols without CONFIG_KALLSYMS_ALL.
 */
__noinline u64 find_percpu_base(u32 cpu)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u64 base = CPROF_NO_BASE;

	if (bpf_core_field_exists(((struct cfs_rq *)0)->rq)) {
		base = address_of(current->se.cfs_rq->rq) - config.runqueues_offset;
		/* The area holds the number of its CPU (until 6.2 and from 6.15): a check. */
		if (config.cpu_number_offset &&
		    read_percpu_u32(base, config.cpu_number_offset) != cpu)
			base = CPROF_NO_BASE;
	}
	percpu_base[cpu & (CPROF_MAX_CPUS - 1)] = base;
	return base;
}

/* The slot of this epoch, counted in; NULL (two turns of the epoch in a row) is left uncounted in
 * the slot, but the stream's lost counter has it, so the recorder sees a break without verbs. */
static __always_inline struct cprof_loss_slot *enter_slot(struct cprof_stream_counters *stream)
{
	struct cprof_loss_slot *slot;
	u32 epoch;
	int try;

#pragma unroll
	for (try = 0; try < 4; try++) {
		epoch = *(volatile u32 *)&control.epoch & 1;
		slot = &stream->slot[epoch];
		__sync_fetch_and_add(&slot->begun, 1);
		if ((*(volatile u32 *)&control.epoch & 1) == epoch)
			return slot;
		__sync_fetch_and_add(&slot->finished, 1);
	}
	return NULL;
}

/* Notes an event that found its ring full. Its sequence number is spent: a hole that counts. The
 * time is taken inside the slot, so that no loss is older than the turn of the epoch before it. */
__noinline int lose(struct cprof_stream_counters *stream, u32 verb, u64 key, u64 key2)
{
	struct cprof_loss_slot *slot;
	u64 now_ns, seen_ns;

	if (!stream)
		return 0;
	__sync_fetch_and_add(&stream->attempted, 1);
	slot = enter_slot(stream);
	if (slot) {
		now_ns = bpf_ktime_get_ns();
		__sync_val_compare_and_swap(&slot->first_ns, 0, now_ns);
		/* Only interrupts on this CPU race here, and they are later than we are. */
		seen_ns = slot->last_ns;
		if (seen_ns < now_ns)
			__sync_val_compare_and_swap(&slot->last_ns, seen_ns, now_ns);
		__sync_fetch_and_or(&slot->signature, cprof_signature_bit(key));
		__sync_fetch_and_or(&slot->signature, cprof_signature_bit(key2));
		__sync_fetch_and_add(&slot->count[verb & (CPROF_VERB_MAX - 1)], 1);
		__sync_fetch_and_add(&slot->total, 1);
		__sync_fetch_and_add(&slot->finished, 1);
	}
	__sync_fetch_and_add(&stream->lost, 1);
	return 0;
}

/*
 * Children inherit: a new process of a target process, a new thread of a target thread. Always
 * loaded but for system-wide recordings. task_newtask also sees io-wq and SQPOLL threads, which
 * sched_process_fork does not.
 */
SEC("?tp_btf/task_newtask")
int BPF_PROG(filter__newtask, struct task_struct *child, u64 clone_flags)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	u32 child_tgid = (u32)child->tgid, child_tid = (u32)child->pid;
	u32 parent_tgid = (u32)parent->tgid, parent_tid = (u32)parent->pid;
	bool process_is_target, thread_is_target;
	u8 one = 1;

	process_is_target = parent_tgid == control.single_tgid ||
			    bpf_map_lookup_elem(&target_processes, &parent_tgid);
	thread_is_target = bpf_map_lookup_elem(&target_threads, &parent_tid);
	if (child_tgid == child_tid && child_tgid != parent_tgid) {
		/* A number that comes round again is not the target any more. */
		if (!process_is_target || !config.inherit) {
			bpf_map_delete_elem(&target_processes, &child_tgid);
			if (control.single_tgid == child_tgid)
				control.single_tgid = CPROF_NO_TGID;
		} else {
			control.more_targets = 1;
			if (bpf_map_update_elem(&target_processes, &child_tgid, &one, BPF_ANY))
				__sync_fetch_and_add(&control.inherit_failures, 1);
		}
	}
	if (thread_is_target && config.inherit) {
		if (bpf_map_update_elem(&target_threads, &child_tid, &one, BPF_ANY))
			__sync_fetch_and_add(&control.inherit_failures, 1);
	} else {
		bpf_map_delete_elem(&target_threads, &child_tid);
	}
	return 0;
}
