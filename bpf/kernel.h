/* The kernel types that the programs read: only the fields used; CO-RE finds their offsets. */
/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include <linux/types.h>
#include <linux/bpf.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;

#define true 1
#define false 0
#ifndef NULL
#define NULL ((void *)0)
#endif

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct refcount_struct {
	atomic_t refs;
};

/* ---- threads ---- */

struct thread_info {
	u32 status; /* TS_COMPAT */
};

struct rq {
	u64 clock; /* as of the last update: a switch begins with one */
	u64 clock_task; /* the same without what was stolen */
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct signal_struct {
	atomic_t live;
};

struct inode;
struct file;

struct file_operations {
	int (*release)(struct inode *inode, struct file *file);
};

struct file {
	const struct file_operations *f_op;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct;

struct mm_struct {
	struct task_struct *owner; /* where CONFIG_MEMCG is set */
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	int on_rq;
	struct sched_entity se;
	struct mm_struct *mm;
	int pid;
	int tgid;
	int *clear_child_tid;
	void *worker_private;
	u64 start_time;
	struct task_struct *group_leader;
	char comm[16];
	struct files_struct *files;
	struct signal_struct *signal;
};

struct pt_regs {
	unsigned long r10;
	unsigned long r8;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
};

/* ---- timers ---- */

struct hrtimer {
	void *function;
};

struct hrtimer_sleeper {
	struct hrtimer timer;
	struct task_struct *task;
};

struct timer_list {
	void *function;
};

struct process_timer {
	struct timer_list timer;
	struct task_struct *task;
};

/* ---- workqueues ---- */

struct work_struct;
typedef void (*work_func_t)(struct work_struct *work);

struct work_struct {
	work_func_t func;
};

struct pool_workqueue;

/* ---- io_uring ---- */

struct io_uring_sqe {
	u8 opcode;
	u8 flags;
	s32 fd;
	u64 user_data;
};

struct io_uring_cqe {
	u64 user_data;
	s32 res;
	u32 flags;
};

struct io_cqe {
	u64 user_data;
	s32 res;
	int fd; /* shares its place with flags; holds the descriptor until the completion */
};

struct io_uring {
	u32 head;
	u32 tail;
};

struct io_rings {
	struct io_uring sq;
	struct io_uring cq;
};

struct io_ring_ctx {
	unsigned int flags;
	struct io_rings *rings;
	struct mm_struct *mm_account;
	struct work_struct exit_work;
};

struct io_uring_task {
	struct task_struct *task; /* 6.13 on: b6f58a3f4aa8 */
};

struct io_wq_work {
	int cancel_seq;
};

struct io_kiocb {
	struct file *file;
	u8 opcode;
	u64 flags; /* 32 bits before 6.8; the low byte, all that is used, is the same */
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
	struct io_uring_task *tctx;
	struct io_wq_work work;
};

/* Before b6f58a3f4aa8 (6.13) a request pointed to its task itself. */
struct io_kiocb___task {
	struct task_struct *task;
};

struct io_worker {
	struct io_wq_work *cur_work;
};

/* ---- iterators ---- */

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

/* ---- casts ---- */

/* A struct of pointers that every kernel has, to read pointers out of untyped memory. */
struct hlist_node;
struct hlist_head {
	struct hlist_node *first;
};

#pragma clang attribute pop

#define TS_COMPAT 0x0002
#define PF_IO_WORKER 0x00000010
#define PF_KTHREAD 0x00200000
#define TASK_INTERRUPTIBLE 0x0001
#define TASK_DEAD 0x0080

#endif /* __VMLINUX_H__ */
