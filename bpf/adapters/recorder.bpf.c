/* What existed when the recorder armed: threads with their exact start times, and io_urings. */
/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
#include "bpf/emit.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

#pragma clang attribute pop

/*
 * These run when the recorder reads from the iterator, not from an event. They write structs of
 * bpf/event.h into the file that is read. A write that does not fit is repeated by the kernel.
 */
SEC("iter/task")
int recorder__threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct cprof_found_thread found = {};

	if (!task || !task_is_target(task))
		return 0;
	found.start_time_ns = task->start_time;
	found.tid = (u32)task->pid;
	found.tgid = (u32)task->tgid;
	bpf_probe_read_kernel(found.comm, sizeof(found.comm), task->comm);
	bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	return 0;
}

SEC("iter/task_file")
int recorder__rings(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct cprof_found_file found = {};
	struct io_ring_ctx *ring;

	/* Threads share a table of files, which is the leader's business. */
	if (!task || !file || task->pid != task->tgid || !task_is_target(task))
		return 0;
	/*
	 * Which type of file it is, the reader of this decides: it knows the address of
	 * io_uring_release. For all others, flags are the harmless reading of something else.
	 */
	ring = file->private_data;
	found.release = (u64)file->f_op->release;
	found.object = object_key(ring);
	found.start_time_ns = task->start_time;
	found.tgid = (u32)task->tgid;
	found.fd = ctx->fd;
	if (bpf_core_field_exists(ring->flags))
		found.ring_flags = BPF_CORE_READ(ring, flags);
	bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	return 0;
}
