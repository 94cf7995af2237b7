/* Defines what all programs share: rings, counters, targets, configuration and control. */
/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
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
