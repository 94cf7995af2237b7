/* The wire: what BPF programs put into the rings, and what the recorder takes out of them. */
/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
#ifndef CPROF_BPF_EVENT_H_
#define CPROF_BPF_EVENT_H_

#include <linux/types.h>

/*
 * Verbs. One number space for all adapters, a range for each; the numbers are also the numbers on
 * disk: never reuse one. What the two keys and the two arguments of a verb mean stands in
 * format/adapters.def, which must have a row for each name here.
 */
enum cprof_verb {
	/* sched: 0x01 - 0x0f */
	CPROF_SCHED_WAKING = 0x01,
	CPROF_SCHED_SWITCH = 0x02,
	CPROF_SCHED_FORK = 0x03,
	CPROF_SCHED_EXEC = 0x04,
	CPROF_SCHED_EXIT = 0x05,
	CPROF_SCHED_RUNTIME = 0x06,
	CPROF_SCHED_COMM = 0x07,
	/* io_uring: 0x20 - 0x3f */
	CPROF_IO_URING_CREATE = 0x20,
	CPROF_IO_URING_SUBMIT = 0x21,
	CPROF_IO_URING_COMPLETE = 0x22,
	CPROF_IO_URING_FILE_GET = 0x23,
	CPROF_IO_URING_QUEUE_ASYNC = 0x24,
	CPROF_IO_URING_DEFER = 0x25,
	CPROF_IO_URING_LINK = 0x26,
	CPROF_IO_URING_FAIL_LINK = 0x27,
	CPROF_IO_URING_POLL_ARM = 0x28,
	CPROF_IO_URING_TASK_ADD = 0x29,
	CPROF_IO_URING_REQ_FAILED = 0x2a,
	CPROF_IO_URING_OVERFLOW = 0x2b,
	CPROF_IO_URING_CQ_WAIT = 0x2c,
	CPROF_IO_URING_WORK_RUN = 0x2d,
	CPROF_IO_URING_RING_EXIT = 0x2e,
	/* futex and eventfd objects: 0x40 - 0x4f */
	CPROF_FUTEX_WAIT = 0x40,
	CPROF_FUTEX_WAKE = 0x41,
	CPROF_EVENTFD_WAIT = 0x48,
	CPROF_EVENTFD_SIGNAL = 0x49,
	CPROF_EPOLL_WAIT = 0x4a,
	/* app, from in-process rings, never from BPF: 0x50 - 0x5f */
	CPROF_APP_BEGIN = 0x50,
	CPROF_APP_END = 0x51,
	CPROF_APP_ENTER = 0x52,
	CPROF_APP_LEAVE = 0x53,
	CPROF_APP_EDGE = 0x54,
	CPROF_APP_RING = 0x55, /* from BPF: an in-process ring announces itself to the recorder */
	/* samples, context plane: 0x60 - 0x6f */
	CPROF_SAMPLE_CPU = 0x60,
	/* written by the recorder itself, stream "recorder": 0x70 - 0x7f */
	CPROF_RECORDER_THREAD = 0x70, /* a thread that existed at arming */
	CPROF_RECORDER_RING = 0x71,   /* an io_uring that existed at arming */
	CPROF_RECORDER_GATE = 0x72,   /* the gate opened (arg 1) or closed (arg 0) */
	CPROF_VERB_MAX = 0x80,
};

/* Interrupt level of the context in which an event happened. */
enum cprof_level {
	CPROF_LEVEL_TASK = 0,
	CPROF_LEVEL_SOFTIRQ = 1,
	CPROF_LEVEL_HARDIRQ = 2,
	CPROF_LEVEL_NMI = 3,
	CPROF_LEVEL_UNKNOWN = 4,
};

/*
 * One event of the edge plane. tid, tgid and start_time_ns are those of the current task, also at
 * interrupt level, where they say who was interrupted and nothing about the cause.
 * sequence is spent on every attempt, also on those that found the ring full.
 */
struct cprof_wire_event {
	__u64 time_ns; /* CLOCK_MONOTONIC, taken after the reservation */
	__u64 key;     /* kernel pointers are already replaced by per-recording ids */
	__u64 key2;
	__u64 arg;
	__u64 arg2;
	__u64 start_time_ns; /* task_struct.start_time, CLOCK_MONOTONIC */
	__u32 sequence;	     /* low 32 bits; the recorder unwraps */
	__u32 tid;	     /* in the initial pid namespace */
	__u32 tgid;
	__u8 verb;  /* enum cprof_verb */
	__u8 level; /* enum cprof_level */
	__u16 flags;
};

/* A second thread in key and key2: key = its start_time_ns, key2 = tid | tgid << 32. */
#define CPROF_THREAD_KEY2(tid, tgid) ((__u64)(__u32)(tid) | (__u64)(__u32)(tgid) << 32)

/*
 * One sample of the context plane is an event (arg = weight in ns, arg2 = number of user frames |
 * number of kernel frames << 16) and behind it the frames as __u64, user first, each leaf first.
 */

#define CPROF_MAX_STACK_FRAMES 127

/*
 * The signature of a break has one bit for each lost key. Both keys of a lost event set their bit.
 * Stated here, since kernel, recorder and report must agree.
 */
static inline __u64 cprof_signature_bit(__u64 key)
{
	return 1ULL << ((key * 0x9e3779b97f4a7c15ULL) >> 58);
}

/*
 * What was lost on one stream in one epoch. A producer counts itself in (begun), looks at the epoch
 * again, fills the slot, and counts itself out (finished). The recorder turns the epoch and may
 * read and clear the old slot as soon as begun == finished: nobody is in it, and nobody can enter.
 */
struct cprof_loss_slot {
	__u64 begun;
	__u64 finished;
	__u64 first_ns;
	__u64 last_ns;
	__u64 signature;
	__u64 total;
	__u32 count[CPROF_VERB_MAX];
};

enum cprof_plane {
	CPROF_PLANE_EDGE = 0,
	CPROF_PLANE_CONTEXT = 1,
	CPROF_PLANE_MAX = 2,
};

/* Counters of one stream (CPU and plane), in memory that kernel and recorder share. */
struct cprof_stream_counters {
	__u64 attempted; /* sequence numbers handed out */
	__u64 lost;
	struct cprof_loss_slot slot[2];
};

/* More CPUs than this are refused; it bounds two tables of the programs. */
#define CPROF_MAX_CPUS 4096

/* What the recorder tells the programs before they are loaded; constant from then on, so that the
 * verifier removes what a recording does not need. */
struct cprof_config {
	__u64 key_secret[3];   /* key mix: xor, odd factor, odd factor; all 0: raw keys */
	__u64 kernel_base;     /* subtracted from kernel frames; 0: raw keys */
	__u64 eventfd_release; /* addresses of kernel functions; 0 where unknown */
	__u64 eventpoll_release;
	__u64 io_ring_exit_work;
	__u64 io_uring_release;
	__u64 hrtimer_wakeup;
	__u64 process_timeout;
	__u64 sample_weight_ns;
	__u32 self_tgid;	    /* the recorder: never appears */
	__u32 runqueues_offset;	    /* in the per-CPU area */
	__u32 preempt_count_offset; /* 0: not known, every level is UNKNOWN */
	__u32 cpu_number_offset;
	__u8 system_wide;
	__u8 inherit;
	__u8 cpu_filter;      /* only CPUs with a 1 in cpu_wanted */
	__u8 has_rdonly_cast; /* kfunc, 6.2 on */
	__u8 sample_user_stack;
	__u8 sample_kernel_stack;
	__u8 padding[2];
};

/* What recorder and programs both change while recording. */
struct cprof_control {
	__u32 gate;		/* 0: nothing is emitted */
	__u32 epoch;		/* bit 0 chooses the loss slot */
	__u32 single_tgid;	/* the first target, compared before any map; 0xffffffff: none */
	__u32 more_targets;	/* 1: the maps of targets hold something */
	__u64 self_address;	/* of this struct in the kernel, set by the first inventory */
	__u64 inherit_failures; /* children that found the map of targets full */
};

#define CPROF_NO_TGID 0xffffffffU

/* What the inventory programs write about each thread and each io_uring that exists. */
struct cprof_found_thread {
	__u64 start_time_ns;
	__u64 runtime_ns; /* as of the last tick or switch */
	__u32 tid;
	__u32 tgid;
	__u32 flags; /* PF_* of the kernel */
	__u32 is_target;
	char comm[16];
};

struct cprof_found_ring {
	__u64 ring; /* as in the events */
	__u64 start_time_ns;
	__u32 tgid;
	__u32 fd;
	__u32 setup_flags;
	__u32 padding;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct cprof_wire_event) == 64, "the wire event has no padding");
#endif

#endif /* CPROF_BPF_EVENT_H_ */
