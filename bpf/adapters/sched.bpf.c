/* Threads: waking, switch, fork, exec, exit, the scheduler's own account of CPU time, names. */
/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
#include "bpf/emit.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * What was told about each tid, in pages of 2048 (a plain array lookup, against 10 to 14 ns for
 * task storage). 0: nothing yet. Else 0x8000 | the half second in which its CPU time was told.
 * The recorder sets max_entries by pid_max; a tid beyond that stays unnamed.
 */
#define TOLD_PAGE_BITS 11
#define TOLD_PAGE_MASK ((1U << TOLD_PAGE_BITS) - 1)

struct told_page {
	u16 told[1U << TOLD_PAGE_BITS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct told_page);
} told_pages SEC(".maps");

static __always_inline u16 *told_of(u32 tid)
{
	u32 index = tid >> TOLD_PAGE_BITS;
	struct told_page *page = bpf_map_lookup_elem(&told_pages, &index);

	return page ? &page->told[tid & TOLD_PAGE_MASK] : NULL;
}

/* Half seconds (2^29 ns): CPU time is told at least once a second of a thread that runs. */
static __always_inline u16 told_code(u64 now_ns)
{
	return 0x8000 | ((now_ns >> 29) & 0x7fff);
}

static __always_inline bool is_nobody(const struct task_struct *task)
{
	return !task->pid || is_own((u32)task->tgid);
}

/*
 * How long before a switch event the scheduler's account of CPU time turned from one thread to the
 * next: it turns at the run queue's clock as of the beginning of the switch, and the event comes
 * when the next thread was picked. That clock and CLOCK_MONOTONIC have another zero, and drift
 * apart with the corrections of the latter; what they differ by is taken to be the least difference
 * seen in this window and the one before.
 */
#define SWITCH_WINDOW_SHIFT 24 /* 17 ms: a drift of 20 ppm makes an error of 0.7 us at most */
#define SWITCH_DELAY_SHIFT 6
#define SWITCHES_ENOUGH 16     /* one of so many has nearly the least delay */

struct switch_clock {
	u64 window;
	s64 least_now;    /* in this window */
	s64 least_before; /* in the one before */
	u64 seen_now;     /* switches */
	u64 seen_before;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct switch_clock);
} switch_clocks SEC(".maps");

/* As it stands in an event: 1 + units of 64 ns; 0: not known. Finer only costs room in the file. */
static __always_inline u16 switch_delay(const struct task_struct *prev, u64 now_ns)
{
	u64 window = now_ns >> SWITCH_WINDOW_SHIFT;
	struct switch_clock *clock;
	s64 difference, least;
	const struct rq *rq;
	u32 zero = 0;

	if (!bpf_core_field_exists(((struct cfs_rq *)0)->rq) ||
	    !bpf_core_field_exists(((struct rq *)0)->clock_task))
		return 0;
	clock = bpf_map_lookup_elem(&switch_clocks, &zero);
	if (!clock)
		return 0;
	rq = prev->se.cfs_rq->rq;
	difference = (s64)(now_ns - rq->clock);
	if (clock->window != window) {
		clock->least_before = clock->least_now;
		clock->seen_before = clock->window + 1 == window ? clock->seen_now : 0;
		clock->least_now = difference;
		clock->seen_now = 0;
		clock->window = window;
	} else if (difference < clock->least_now) {
		clock->least_now = difference;
	}
	clock->seen_now++;
	/* A clock that moved on while threads were pulled from other CPUs is that of next alone. */
	if (clock->seen_before + clock->seen_now < SWITCHES_ENOUGH ||
	    (prev->pid && prev->se.exec_start != rq->clock_task))
		return 0;
	least = clock->least_now;
	if (clock->seen_before && clock->least_before < least)
		least = clock->least_before;
	difference = (difference - least) >> SWITCH_DELAY_SHIFT;
	return difference < 0xffff ? (u16)(difference + 1) : 0;
}

static __noinline int tell_comm(struct task_struct *current, struct task_struct *thread)
{
	u64 text[2] = {};
	int i;

	/* Byte by byte: the verifier allows no wider load from an array of char. */
#pragma unroll
	for (i = 0; i < 16; i++)
		text[i / 8] |= (u64)(u8)thread->comm[i] << (i % 8 * 8);
	emit(current, CPROF_SCHED_COMM, CPROF_LEVEL_TASK, thread->start_time, thread_key2(thread),
	     text[0], text[1]);
	return 0;
}

static __noinline int tell_runtime(struct task_struct *current, struct task_struct *thread)
{
	emit(current, CPROF_SCHED_RUNTIME, CPROF_LEVEL_TASK, thread->start_time,
	     thread_key2(thread), thread->se.sum_exec_runtime, 0);
	return 0;
}

/* Tells name (at first sight) and CPU time of a thread, at a switch, where the latter is current.
 */
static __noinline int tell(struct task_struct *current, struct task_struct *thread, u16 code)
{
	u16 *told = told_of((u32)thread->pid);

	if (!told || is_nobody(thread))
		return 0;
	if (!*told)
		tell_comm(current, thread);
	*told = code;
	if (task_is_target(thread))
		tell_runtime(current, thread);
	return 0;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(sched__switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct cprof_wire_event *event;
	u64 now_ns, key = 0, key2 = 0;
	u16 *told, code;

	if (!recording_here())
		return 0;
	if (config.system_wide) {
		if (is_nobody(prev) && is_nobody(next))
			return 0;
	} else if (!task_is_target(prev) && !task_is_target(next)) {
		switch_delay(prev, bpf_ktime_get_ns()); /* keeps what it knows up to date */
		return 0;
	}
	if (!is_own((u32)next->tgid)) {
		key = next->start_time;
		key2 = thread_key2(next);
	}
	/* The scheduler switches in task context only, with interrupts off. */
	event = begin_event(prev, CPROF_SCHED_SWITCH, CPROF_LEVEL_TASK, key, key2, prev_state,
			    preempt);
	if (!event)
		return 0;
	event->flags = switch_delay(prev, event->time_ns);
	now_ns = end_event(event);
	code = told_code(now_ns);
	told = told_of((u32)prev->pid);
	if (told && (*told != code || prev_state == TASK_DEAD))
		tell(prev, prev, code);
	told = told_of((u32)next->pid);
	if (told && !*told)
		tell(prev, next, code);
	return 0;
}

/*
 * Whose own timeout is being handled on this CPU, by interrupt level. A thread that sleeps until a
 * time (nanosleep; the timeouts of futex, poll, epoll and others) has a timer on its stack with a
 * handler that does nothing but wake it: the waking inside of that handler is the timer's.
 */
struct expiring_sleep {
	u64 task[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct expiring_sleep);
} expiring_sleeps SEC(".maps");

static __always_inline u64 *expiring_at(u8 level)
{
	struct expiring_sleep *sleep;
	u32 zero = 0;

	if (level != CPROF_LEVEL_HARDIRQ && level != CPROF_LEVEL_SOFTIRQ)
		return NULL;
	sleep = bpf_map_lookup_elem(&expiring_sleeps, &zero);
	return sleep ? &sleep->task[level & 3] : NULL;
}

static __always_inline int set_expiring(u64 task)
{
	u64 *expiring = expiring_at(current_level());

	if (expiring)
		*expiring = task;
	return 0;
}

static __always_inline bool is_own_timeout(const struct task_struct *wakee, u8 level)
{
	u64 *expiring = expiring_at(level);

	return expiring && *expiring == (u64)wakee;
}

SEC("?tp_btf/hrtimer_expire_entry")
int BPF_PROG(sched__hrtimer_entry, struct hrtimer *timer)
{
	struct hrtimer_sleeper *sleeper = (struct hrtimer_sleeper *)timer;

	if ((u64)timer->function != config.hrtimer_wakeup)
		return 0;
	return set_expiring((u64)BPF_CORE_READ(sleeper, task));
}

SEC("?tp_btf/hrtimer_expire_exit")
int BPF_PROG(sched__hrtimer_exit)
{
	return set_expiring(0);
}

SEC("?tp_btf/timer_expire_entry")
int BPF_PROG(sched__timer_entry, struct timer_list *timer)
{
	struct process_timer *sleeper = (struct process_timer *)timer;

	if ((u64)timer->function != config.process_timeout)
		return 0;
	return set_expiring((u64)BPF_CORE_READ(sleeper, task));
}

SEC("?tp_btf/timer_expire_exit")
int BPF_PROG(sched__timer_exit)
{
	return set_expiring(0);
}

SEC("?tp_btf/sched_waking")
int BPF_PROG(sched__waking, struct task_struct *wakee)
{
	struct task_struct *current;
	u16 *told;
	u8 level;

	if (!recording_here() || is_own((u32)wakee->tgid))
		return 0;
	current = bpf_get_current_task_btf();
	level = current_level();
	/* At interrupt level the current thread has no part in it. */
	if (level == CPROF_LEVEL_TASK && is_own((u32)current->tgid))
		return 0;
	if (!config.system_wide) {
		bool by_target = level == CPROF_LEVEL_TASK || level == CPROF_LEVEL_UNKNOWN;

		if (!task_is_target(wakee) && !(by_target && task_is_target(current)))
			return 0;
	}
	if (!emit(current, CPROF_SCHED_WAKING, level, wakee->start_time, thread_key2(wakee),
		  wakee->on_rq != 0, is_own_timeout(wakee, level)))
		return 0;
	/* A waker that is no target may show up nowhere else: name it. */
	if (!config.system_wide && level == CPROF_LEVEL_TASK && current->pid) {
		told = told_of((u32)current->pid);
		if (told && !*told) {
			*told = 0x8000;
			tell_comm(current, current);
		}
	}
	return 0;
}

/* task_newtask and not sched_process_fork: it also sees io-wq and SQPOLL threads, and knows the
 * clone flags. */
SEC("?tp_btf/task_newtask")
int BPF_PROG(sched__fork, struct task_struct *child, u64 clone_flags)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	u16 *told = told_of((u32)child->pid);

	if (told)
		*told = 0; /* the tid comes round again */
	if (!recording_here() || is_own((u32)child->tgid))
		return 0;
	if (!task_is_target(parent) && !task_is_target(child))
		return 0;
	emit(parent, CPROF_SCHED_FORK, CPROF_LEVEL_TASK, child->start_time, thread_key2(child),
	     clone_flags, 0);
	return 0;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(sched__exec, struct task_struct *task, int old_tid)
{
	if (!recording_here() || !task_is_target(task))
		return 0;
	emit(task, CPROF_SCHED_EXEC, CPROF_LEVEL_TASK, 0, 0, (u32)old_tid, 0);
	return 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(sched__exit, struct task_struct *task)
{
	if (!recording_here() || !task_is_target(task))
		return 0;
	/* live was already counted down; 6.18 has it as second argument, older kernels do not. */
	emit(task, CPROF_SCHED_EXIT, CPROF_LEVEL_TASK, 0, 0, task->signal->live.counter == 0,
	     task->se.sum_exec_runtime);
	return 0;
}

/* The new name is told when the thread is next seen. */
SEC("?tp_btf/task_rename")
int BPF_PROG(sched__comm, struct task_struct *task)
{
	u16 *told = told_of((u32)task->pid);

	if (told)
		*told = 0;
	return 0;
}
