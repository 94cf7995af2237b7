/* What a blocked thread waits on, and what its waker acted on: futex words, eventfds, epolls. */
/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
#include "bpf/emit.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * The kernel has no tracepoints for these objects, and hooks on system calls would cost every call.
 * So the registers that a thread entered the kernel with are read when it blocks or wakes somebody.
 */

/* Numbers of x86_64. */
enum {
	SYSCALL_READ = 0,
	SYSCALL_WRITE = 1,
	SYSCALL_READV = 19,
	SYSCALL_WRITEV = 20,
	SYSCALL_EXIT = 60,
	SYSCALL_FUTEX = 202,
	SYSCALL_EPOLL_WAIT = 232,
	SYSCALL_EPOLL_PWAIT = 281,
	SYSCALL_EPOLL_PWAIT2 = 441,
	SYSCALL_FUTEX_WAKE = 454,
	SYSCALL_FUTEX_WAIT = 455,
};

#define FUTEX_OPERATION_MASK 127
#define FUTEX_PRIVATE 128

/* FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2 */
#define FUTEX_WAITS (1U << 0 | 1U << 6 | 1U << 9 | 1U << 11 | 1U << 13)
/* FUTEX_WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, UNLOCK_PI, WAKE_BITSET, CMP_REQUEUE_PI */
#define FUTEX_WAKES (1U << 1 | 1U << 3 | 1U << 4 | 1U << 5 | 1U << 7 | 1U << 10 | 1U << 12)
#define FUTEX_WAKE_OP 5

/* One futex as a system call names it. */
struct futex_call {
	u64 address;
	u64 address2; /* of WAKE_OP and requeue; else 0 */
	u32 operation;
	u32 value;
	bool is_private;
};

/* Whether the thread entered the kernel by a 64-bit system call of user space at all. */
static __always_inline bool has_user_registers(const struct task_struct *task)
{
	return !(task->flags & (PF_KTHREAD | PF_IO_WORKER)) &&
	       !(task->thread_info.status & TS_COMPAT);
}

/* What the thread waits on, if it is in a system call that waits on a futex. */
static __always_inline bool futex_wait_of(struct pt_regs *regs, struct futex_call *call)
{
	u64 number = regs->orig_ax;
	u32 operation;

	call->address = regs->di;
	call->address2 = 0;
	if (number == SYSCALL_FUTEX) {
		operation = (u32)regs->si;
		call->operation = operation & FUTEX_OPERATION_MASK;
		call->value = (u32)regs->dx;
		call->is_private = operation & FUTEX_PRIVATE;
		return call->operation < 32 && FUTEX_WAITS >> call->operation & 1;
	}
	if (number == SYSCALL_FUTEX_WAIT) {
		call->operation = 0;
		call->value = (u32)regs->si;
		call->is_private = regs->r10 & FUTEX_PRIVATE;
		return true;
	}
	return false;
}

static __always_inline bool futex_wake_of(struct pt_regs *regs, struct futex_call *call)
{
	u64 number = regs->orig_ax;
	u32 operation;

	call->address = regs->di;
	call->address2 = 0;
	if (number == SYSCALL_FUTEX) {
		operation = (u32)regs->si;
		call->operation = operation & FUTEX_OPERATION_MASK;
		call->is_private = operation & FUTEX_PRIVATE;
		if (call->operation == FUTEX_WAKE_OP)
			call->address2 = regs->r8;
		return call->operation < 32 && FUTEX_WAKES >> call->operation & 1;
	}
	if (number == SYSCALL_FUTEX_WAKE) {
		call->operation = 1;
		call->is_private = regs->r10 & FUTEX_PRIVATE;
		return true;
	}
	return false;
}

/* 0 for a private futex: its address is unique in the process image. A shared one would need the
 * mapping's inode, and looking for it may sleep; so its scope is the address space, which is true
 * for the threads of one process, and joins nothing across processes. */
static __always_inline u64 futex_scope(const struct task_struct *task, bool is_private)
{
	return is_private ? 0 : object_key(task->mm);
}

/* The private data of an open file of the task whose release function is the one given, else 0:
 * release functions are text symbols, which kallsyms always has, unlike file_operations. */
static __always_inline u64 object_of_file(struct task_struct *task, u64 fd, u64 release)
{
	struct fdtable *table = task->files->fdt;
	u64 place;

	if (!release || (u32)fd >= table->max_fds)
		return 0;
	place = (u64)table->fd + (u64)(u32)fd * sizeof(void *);
	if (config.has_rdonly_cast) {
		struct file *file =
		    CPROF_CAST(struct file, CPROF_CAST(struct hlist_head, place)->first);

		if ((u64)file->f_op->release != release)
			return 0;
		return (u64)file->private_data;
	} else {
		struct file *file = NULL;

		bpf_probe_read_kernel(&file, sizeof(file), (void *)place);
		if ((u64)BPF_CORE_READ(file, f_op, release) != release)
			return 0;
		return (u64)BPF_CORE_READ(file, private_data);
	}
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(futex__wait, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct futex_call call = {};
	struct pt_regs *regs;
	u64 object, number;

	/* These waits are interruptible; a page fault inside the call is not. */
	if (preempt || !(prev_state & TASK_INTERRUPTIBLE) || !recording_here())
		return 0;
	if (!task_is_target(prev) || !has_user_registers(prev))
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(prev);
	if (!regs)
		return 0;
	if (futex_wait_of(regs, &call)) {
		emit(prev, CPROF_FUTEX_WAIT, CPROF_LEVEL_TASK, call.address,
		     futex_scope(prev, call.is_private), call.operation, call.value);
		return 0;
	}
	number = regs->orig_ax;
	if (number == SYSCALL_READ || number == SYSCALL_READV) {
		object = object_of_file(prev, regs->di, config.eventfd_release);
		if (object)
			emit(prev, CPROF_EVENTFD_WAIT, CPROF_LEVEL_TASK, address_key(object), 0,
			     (u32)regs->di, 0);
	} else if (number == SYSCALL_EPOLL_WAIT || number == SYSCALL_EPOLL_PWAIT ||
		   number == SYSCALL_EPOLL_PWAIT2) {
		object = object_of_file(prev, regs->di, config.eventpoll_release);
		if (object)
			emit(prev, CPROF_EPOLL_WAIT, CPROF_LEVEL_TASK, address_key(object), 0,
			     (u32)regs->di, 0);
	}
	return 0;
}

/* Read as the pointer of another type: what the verifier takes a pointer to int for has changed
 * from kernel to kernel. */
static __always_inline u64 clear_child_tid_of(const struct task_struct *task)
{
	u64 place = address_of(task) + bpf_core_field_offset(struct task_struct, clear_child_tid);
	u64 word = 0;

	if (config.has_rdonly_cast)
		return address_of(CPROF_CAST(struct hlist_head, place)->first);
	bpf_probe_read_kernel(&word, sizeof(word), (void *)place);
	return word;
}

/* The word that an exiting thread clears for whoever joins it. */
static __always_inline bool exit_wake_of(const struct task_struct *task, struct pt_regs *regs,
					 struct futex_call *call)
{
	if (regs->orig_ax != SYSCALL_EXIT)
		return false;
	call->address = clear_child_tid_of(task);
	call->address2 = 0;
	call->operation = 1;
	call->is_private = false;
	return call->address != 0;
}

/* True where wakee waits on the word that the current thread woke: only then was it the futex. */
static __always_inline bool futex_matches(struct task_struct *wakee, struct futex_call *wake,
					  struct futex_call *wait, bool any_scope)
{
	struct pt_regs *regs;

	if (!has_user_registers(wakee))
		return false;
	regs = (struct pt_regs *)bpf_task_pt_regs(wakee);
	if (!regs || !futex_wait_of(regs, wait))
		return false;
	if (!any_scope && wait->is_private != wake->is_private)
		return false;
	return true;
}

SEC("?tp_btf/sched_waking")
int BPF_PROG(futex__wake, struct task_struct *wakee)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct futex_call wake = {}, wait = {};
	struct pt_regs *regs;
	bool is_exit = false;
	u64 object, number;

	if (!recording_here() || is_own((u32)wakee->tgid) || is_own((u32)current->tgid))
		return 0;
	if (!has_user_registers(current))
		return 0;
	if (!task_is_target(current) && !task_is_target(wakee))
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(current);
	if (!regs)
		return 0;
	number = regs->orig_ax;
	if (number == SYSCALL_WRITE || number == SYSCALL_WRITEV) {
		object = object_of_file(current, regs->di, config.eventfd_release);
		if (object && current_level() == CPROF_LEVEL_TASK)
			emit(current, CPROF_EVENTFD_SIGNAL, CPROF_LEVEL_TASK, address_key(object),
			     0, (u32)regs->di, (u32)wakee->pid);
		return 0;
	}
	if (!futex_wake_of(regs, &wake)) {
		is_exit = exit_wake_of(current, regs, &wake);
		if (!is_exit)
			return 0;
	}
	if (!futex_matches(wakee, &wake, &wait, is_exit) || current_level() != CPROF_LEVEL_TASK)
		return 0;
	/* The kernel wakes that word as a shared futex, and no libc waits for it as a private one.
	 */
	if (is_exit && wait.address != wake.address)
		return 0;
	if (wake.address2 && wait.address == wake.address2)
		wake.address = wake.address2;
	emit(current, CPROF_FUTEX_WAKE, CPROF_LEVEL_TASK, wake.address,
	     futex_scope(current, wait.is_private), wake.operation, (u32)wakee->pid);
	return 0;
}
