/* What existed when recording began: threads, and io_urings with their file descriptors. */
/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
#include "bpf/emit.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Read from an iterator's file descriptor as an array of struct cprof_found_*. */

SEC("?iter/task")
int inventory__threads(struct bpf_iter__task *context)
{
	struct seq_file *out = context->meta->seq;
	struct task_struct *task = context->task;
	struct cprof_found_thread found = {};
	int i;

	/* What keys are made of; the recorder runs this before anything is attached. */
	control.self_address = (u64)&control;
	if (!task || is_own((u32)task->tgid))
		return 0;
	found.start_time_ns = task->start_time;
	found.runtime_ns = task->se.sum_exec_runtime;
	found.tid = (u32)task->pid;
	found.tgid = (u32)task->tgid;
	found.flags = task->flags;
	found.is_target = task_is_target(task);
#pragma unroll
	for (i = 0; i < 16; i++)
		found.comm[i] = task->comm[i];
	bpf_seq_write(out, &found, sizeof(found));
	return 0;
}

SEC("?iter/task_file")
int inventory__rings(struct bpf_iter__task_file *context)
{
	struct seq_file *out = context->meta->seq;
	struct task_struct *task = context->task;
	struct file *file = context->file;
	struct cprof_found_ring found = {};
	u64 ring;

	/* Threads share a table of files, which is the leader's business. */
	if (!task || !file || task->pid != task->tgid || !config.io_uring_release ||
	    (u64)file->f_op->release != config.io_uring_release)
		return 0;
	ring = (u64)file->private_data;
	found.ring = address_key(ring);
	found.start_time_ns = task->start_time;
	found.tgid = (u32)task->tgid;
	found.fd = context->fd;
	if (config.has_rdonly_cast)
		found.setup_flags = CPROF_CAST(struct io_ring_ctx, ring)->flags;
	else
		found.setup_flags = BPF_CORE_READ((struct io_ring_ctx *)ring, flags);
	bpf_seq_write(out, &found, sizeof(found));
	return 0;
}
