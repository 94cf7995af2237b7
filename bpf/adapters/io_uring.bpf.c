/* io_uring requests: from submit to complete, with every detour that the kernel traces. */
/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
#include "bpf/emit.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * Recorded is what the request's owner is: the thread that submitted it. Whoever is current may be
 * a writer on the other end of a pipe, a kworker or a shared SQPOLL thread.
 *
 * All hooks but task_add and poll_arm run in task context: they hold uring_lock, a mutex, or the
 * completion lock, which is not safe against interrupts. That saves reading the level.
 */

static __always_inline bool request_is_target(struct io_kiocb *request)
{
	struct task_struct *owner;

	if (config.system_wide)
		return true;
	if (bpf_core_field_exists(((struct io_kiocb___task *)0)->task))
		owner = ((struct io_kiocb___task *)request)->task;
	else
		owner = request->tctx->task;
	return task_is_target(owner);
}

/* The same for a request that the hook gives as void *. */
static __always_inline bool untyped_request_is_target(u64 request)
{
	struct task_struct *owner;

	if (config.system_wide)
		return true;
	if (config.has_rdonly_cast)
		return request_is_target(CPROF_CAST(struct io_kiocb, request));
	if (bpf_core_field_exists(((struct io_kiocb___task *)0)->task))
		owner = BPF_CORE_READ((struct io_kiocb___task *)request, task);
	else
		owner = BPF_CORE_READ((struct io_kiocb *)request, tctx, task);
	return is_target((u32)BPF_CORE_READ(owner, tgid), (u32)BPF_CORE_READ(owner, pid));
}

/* Where there is no request: the ring's owner is whose memory the ring is accounted to. Without
 * that (CONFIG_MEMCG off, or the process is gone) the current thread decides. */
static __noinline int ring_is_target(u64 ring)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct task_struct *owner = NULL;
	u32 tgid = 0, tid = 0;

	if (config.system_wide || task_is_target(current))
		return 1;
	if (!bpf_core_field_exists(((struct mm_struct *)0)->owner))
		return 0;
	if (config.has_rdonly_cast) {
		owner = CPROF_CAST(struct io_ring_ctx, ring)->mm_account->owner;
		tgid = (u32)owner->tgid;
		tid = (u32)owner->pid;
	} else {
		owner = BPF_CORE_READ((struct io_ring_ctx *)ring, mm_account, owner);
		tgid = (u32)BPF_CORE_READ(owner, tgid);
		tid = (u32)BPF_CORE_READ(owner, pid);
	}
	return tgid && is_target(tgid, tid);
}

static __always_inline u64 operation_of(struct io_kiocb *request)
{
	return (u64)request->opcode | (request->flags & 0xff) << 8 |
	       (u64)(u32)request->cqe.fd << 32;
}

static __always_inline void emit_request(u8 verb, struct io_kiocb *request, u64 arg, u64 arg2)
{
	emit(bpf_get_current_task_btf(), verb, CPROF_LEVEL_TASK, object_key(request),
	     object_key(request->ctx), arg, arg2);
}

/* The request that an io-wq worker runs right now. */
static __noinline int emit_work_run(struct task_struct *current, u64 ring_key)
{
	u64 work = 0;

	/* SQPOLL threads carry the flag too, without a worker. */
	if (!current->worker_private)
		return 0;
	if (config.has_rdonly_cast)
		work = address_of(CPROF_CAST(struct io_worker, current->worker_private)->cur_work);
	else
		work = (u64)BPF_CORE_READ((struct io_worker *)current->worker_private, cur_work);
	if (!work)
		return 0;
	emit(current, CPROF_IO_URING_WORK_RUN, CPROF_LEVEL_TASK,
	     address_key(work - bpf_core_field_offset(struct io_kiocb, work)), ring_key, 0, 0);
	return 0;
}

SEC("?tp_btf/io_uring_create")
int BPF_PROG(io_uring__create, int fd, void *ring, u32 sq_entries, u32 cq_entries, u32 flags)
{
	struct task_struct *current = bpf_get_current_task_btf();

	if (!recording_here() || !task_is_target(current))
		return 0;
	emit(current, CPROF_IO_URING_CREATE, CPROF_LEVEL_TASK, 0, address_key((u64)ring), (u32)fd,
	     flags);
	return 0;
}

static __always_inline int submit(struct io_kiocb *request)
{
	if (!recording_here() || !request_is_target(request))
		return 0;
	emit_request(CPROF_IO_URING_SUBMIT, request, request->cqe.user_data, operation_of(request));
	return 0;
}

SEC("?tp_btf/io_uring_submit_req")
int BPF_PROG(io_uring__submit_req, struct io_kiocb *request)
{
	return submit(request);
}

/* Its name before 6.4: 2ad57931db64. */
SEC("?tp_btf/io_uring_submit_sqe")
int BPF_PROG(io_uring__submit_sqe, struct io_kiocb *request)
{
	return submit(request);
}

static __always_inline int complete(u64 ring, u64 ring_key, u64 request, u64 user_data, u32 result,
				    u32 cqe_flags)
{
	struct task_struct *current = bpf_get_current_task_btf();

	if (request ? !untyped_request_is_target(request) : !ring_is_target(ring))
		return 0;
	if (request && current->flags & PF_IO_WORKER)
		emit_work_run(current, ring_key);
	emit(current, CPROF_IO_URING_COMPLETE, CPROF_LEVEL_TASK, address_key(request), ring_key,
	     user_data, (u64)result | (u64)cqe_flags << 32);
	return 0;
}

/* From 6.18 on the hook gives the entry. */
SEC("?tp_btf/io_uring_complete")
int BPF_PROG(io_uring__complete_cqe, struct io_ring_ctx *ring, void *request,
	     struct io_uring_cqe *cqe)
{
	if (!recording_here())
		return 0;
	return complete(address_of(ring), object_key(ring), (u64)request, cqe->user_data,
			(u32)cqe->res, cqe->flags);
}

SEC("?tp_btf/io_uring_complete")
int BPF_PROG(io_uring__complete_args, void *ring, void *request, u64 user_data, int result,
	     unsigned int cqe_flags)
{
	if (!recording_here())
		return 0;
	return complete((u64)ring, address_key((u64)ring), (u64)request, user_data, (u32)result,
			cqe_flags);
}

SEC("?tp_btf/io_uring_file_get")
int BPF_PROG(io_uring__file_get, struct io_kiocb *request, int fd)
{
	struct task_struct *current = bpf_get_current_task_btf();

	if (!recording_here() || !request_is_target(request))
		return 0;
	if (current->flags & PF_IO_WORKER)
		emit_work_run(current, object_key(request->ctx));
	emit_request(CPROF_IO_URING_FILE_GET, request, (u32)fd, 0);
	return 0;
}

SEC("?tp_btf/io_uring_queue_async_work")
int BPF_PROG(io_uring__queue_async, struct io_kiocb *request, int hashed)
{
	if (!recording_here() || !request_is_target(request))
		return 0;
	emit_request(CPROF_IO_URING_QUEUE_ASYNC, request, (u32)hashed, 0);
	return 0;
}

SEC("?tp_btf/io_uring_defer")
int BPF_PROG(io_uring__defer, struct io_kiocb *request)
{
	if (!recording_here() || !request_is_target(request))
		return 0;
	emit_request(CPROF_IO_URING_DEFER, request, 0, 0);
	return 0;
}

SEC("?tp_btf/io_uring_link")
int BPF_PROG(io_uring__link, struct io_kiocb *request, struct io_kiocb *target)
{
	if (!recording_here() || !request_is_target(request))
		return 0;
	emit(bpf_get_current_task_btf(), CPROF_IO_URING_LINK, CPROF_LEVEL_TASK, object_key(request),
	     object_key(target), 0, 0);
	return 0;
}

SEC("?tp_btf/io_uring_fail_link")
int BPF_PROG(io_uring__fail_link, struct io_kiocb *request, struct io_kiocb *link)
{
	if (!recording_here() || !request_is_target(request))
		return 0;
	emit(bpf_get_current_task_btf(), CPROF_IO_URING_FAIL_LINK, CPROF_LEVEL_TASK,
	     object_key(request), object_key(link), 0, 0);
	return 0;
}

SEC("?tp_btf/io_uring_poll_arm")
int BPF_PROG(io_uring__poll_arm, struct io_kiocb *request, int mask, int events)
{
	if (!recording_here() || !request_is_target(request))
		return 0;
	emit(bpf_get_current_task_btf(), CPROF_IO_URING_POLL_ARM, current_level(),
	     object_key(request), object_key(request->ctx), (u32)mask, (u32)events);
	return 0;
}

/* In the context of whoever made the file ready: a writer, or a softirq. */
SEC("?tp_btf/io_uring_task_add")
int BPF_PROG(io_uring__task_add, struct io_kiocb *request, int mask)
{
	if (!recording_here() || !request_is_target(request))
		return 0;
	emit(bpf_get_current_task_btf(), CPROF_IO_URING_TASK_ADD, current_level(),
	     object_key(request), object_key(request->ctx), (u32)mask, 0);
	return 0;
}

/* An entry that could not become a request: there is no submit, this is the hand-out. */
SEC("?tp_btf/io_uring_req_failed")
int BPF_PROG(io_uring__req_failed, const struct io_uring_sqe *sqe, struct io_kiocb *request)
{
	if (!recording_here() || !request_is_target(request))
		return 0;
	emit_request(CPROF_IO_URING_REQ_FAILED, request, sqe->user_data,
		     (u64)sqe->opcode | (u64)sqe->flags << 8 | (u64)(u32)sqe->fd << 32);
	return 0;
}

SEC("?tp_btf/io_uring_cqe_overflow")
int BPF_PROG(io_uring__overflow, void *ring, u64 user_data, s32 result, u32 cqe_flags)
{
	if (!recording_here() || !ring_is_target((u64)ring))
		return 0;
	emit(bpf_get_current_task_btf(), CPROF_IO_URING_OVERFLOW, CPROF_LEVEL_TASK, 0,
	     address_key((u64)ring), user_data, (u64)(u32)result | (u64)cqe_flags << 32);
	return 0;
}

/* The kernel decided to wait: fewer than min_complete entries are in the queue. */
SEC("?tp_btf/io_uring_cqring_wait")
int BPF_PROG(io_uring__cq_wait, void *ring, int min_complete)
{
	u32 head, tail;

	if (!recording_here() || !ring_is_target((u64)ring))
		return 0;
	if (config.has_rdonly_cast) {
		struct io_rings *rings = CPROF_CAST(struct io_ring_ctx, ring)->rings;

		head = rings->cq.head;
		tail = rings->cq.tail;
	} else {
		head = BPF_CORE_READ((struct io_ring_ctx *)ring, rings, cq.head);
		tail = BPF_CORE_READ((struct io_ring_ctx *)ring, rings, cq.tail);
	}
	emit(bpf_get_current_task_btf(), CPROF_IO_URING_CQ_WAIT, CPROF_LEVEL_TASK, 0,
	     address_key((u64)ring), (u32)min_complete, (u64)head | (u64)tail << 32);
	return 0;
}

/* No tracepoint tells the end of a ring; the work item that tears it down does. */
SEC("?tp_btf/workqueue_queue_work")
int BPF_PROG(io_uring__ring_exit, int cpu, struct pool_workqueue *queue, struct work_struct *work)
{
	u64 ring;

	if ((u64)work->func != config.io_ring_exit_work || !recording_here())
		return 0;
	ring = address_of(work) - bpf_core_field_offset(struct io_ring_ctx, exit_work);
	if (!ring_is_target(ring))
		return 0;
	emit(bpf_get_current_task_btf(), CPROF_IO_URING_RING_EXIT, current_level(), 0,
	     address_key(ring), 0, 0);
	return 0;
}
