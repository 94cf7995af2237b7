// Tasks that say to the oracle log what happens to them: who spawned them, who woke them, who polled
// them and when. The runtime below is untouched, and its own ids are the only names of tasks that a
// profiler can see.
use crate::oracle::{self, Record};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use tokio::task::JoinHandle;

// The runtime is in a poll somewhat longer than the future; a profiler may say either.
const POLL_SLACK_NS: u64 = 5_000;

#[derive(Clone, Copy)]
struct Call {
    tid: u32,
    before_ns: u64,
    after_ns: u64,
}

struct Truth {
    id: u64,
    owner: u64,
    spawner: u32,
    spawn_before_ns: u64,
    spawn_after_ns: AtomicU64,
    wakes: Mutex<Vec<Call>>, // since the poll that runs, or ran last, began
}

struct TracedWaker {
    inner: Waker,
    truth: Arc<Truth>,
}

impl Wake for TracedWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        let before_ns = oracle::now_ns();
        // Noted first: the poll that it causes may begin before the call is back.
        let index = {
            let mut wakes = self.truth.wakes.lock().unwrap();
            wakes.push(Call { tid: oracle::own_tid(), before_ns, after_ns: 0 });
            wakes.len() - 1
        };
        self.inner.wake_by_ref();
        let after_ns = oracle::now_ns();
        if let Some(call) = self.truth.wakes.lock().unwrap().get_mut(index) {
            if call.before_ns == before_ns {
                call.after_ns = after_ns;
            }
        }
    }
}

// The address that a waker of the runtime carries is its task's header.
fn header_of(waker: &Waker) -> usize {
    const MARK: usize = 0x1230;
    static VTABLE: RawWakerVTable =
        RawWakerVTable::new(|_| RawWaker::new(MARK as *const (), &VTABLE), |_| {}, |_| {}, |_| {});
    let known = unsafe { Waker::from_raw(RawWaker::new(MARK as *const (), &VTABLE)) };
    // Which of its two words is the address is the standard library's affair.
    let words: [usize; 2] = unsafe { std::mem::transmute_copy(&known) };
    let index = words.iter().position(|word| *word == MARK).unwrap();
    let words: [usize; 2] = unsafe { std::mem::transmute_copy(waker) };
    words[index]
}

// The runtime's id of a task: Header { state, queue_next, vtable, owner_id }, and the vtable says
// where the id is (tokio 1.23 and later).
fn runtime_id(waker: &Waker) -> u64 {
    let header = header_of(waker);
    unsafe {
        let vtable = *((header + 16) as *const usize);
        let id_offset = *((vtable + 72) as *const usize);
        assert!((32..=256).contains(&id_offset), "not the task layout that is known");
        *((header + id_offset) as *const u64)
    }
}

struct Stretch {
    owner: u64,
    before_ns: u64,
    inner_from_ns: u64,
    cpu_ns: u64,
}

struct Thread {
    watched_from_ns: u64,
    last_ns: u64, // nothing is known after
    stretch: Option<Stretch>,
    ended: Option<Record>, // the stretch before: where its end may lie depends on the next one
}

impl Thread {
    fn log_ended(&mut self, before_ns: u64) {
        if let Some(mut record) = self.ended.take() {
            record.after_ns = record.after_ns.min(before_ns.max(record.inner_to_ns));
            self.last_ns = record.after_ns;
            oracle::add(record);
            let value = record.value;
            let (inner_from_ns, inner_to_ns) = (0, 0);
            let cost = Record { value, inner_from_ns, inner_to_ns, ..record };
            oracle::add(Record { truth: oracle::COST, kind: oracle::COST_CPU, ..cost });
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.log_ended(u64::MAX);
        oracle::add(Record {
            truth: oracle::WATCHED,
            before_ns: self.watched_from_ns,
            after_ns: self.last_ns,
            ..Record::default()
        });
    }
}

thread_local! {
    static THREAD: RefCell<Thread> = RefCell::new(Thread {
        watched_from_ns: oracle::now_ns(),
        last_ns: 0,
        stretch: None,
        ended: None,
    });
}

/// From here on this thread works for `owner`, 0 for nobody. Returns for whom it did before.
pub fn turn(owner: u64, slack_ns: u64) -> u64 {
    THREAD.with(|thread| {
        let mut thread = thread.borrow_mut();
        let now_ns = oracle::now_ns();
        let cpu_ns = oracle::thread_cpu_ns();
        let mut before = 0;
        thread.last_ns = thread.last_ns.max(now_ns);
        if let Some(stretch) = thread.stretch.take() {
            before = stretch.owner;
            thread.ended = Some(Record {
                truth: oracle::WORK,
                tid: oracle::own_tid(),
                owner: stretch.owner,
                before_ns: stretch.before_ns,
                inner_from_ns: stretch.inner_from_ns,
                inner_to_ns: now_ns,
                after_ns: now_ns + if owner == 0 { slack_ns } else { 0 },
                value: cpu_ns - stretch.cpu_ns, // for its kCost; nobody reads it in a kWork
                ..Record::default()
            });
        }
        if owner != 0 {
            thread.log_ended(now_ns);
            let before_ns = thread.last_ns.max(now_ns - slack_ns).min(now_ns);
            let inner_from_ns = oracle::now_ns();
            thread.stretch = Some(Stretch { owner, before_ns, inner_from_ns, cpu_ns });
        }
        before
    })
}

/// Runs `action` as a stretch of work for `owner` in whatever this thread does.
pub fn work_for<R>(owner: u64, action: impl FnOnce() -> R) -> R {
    let before = turn(owner, 0);
    let result = action();
    turn(before, 0);
    result
}

pub struct Traced<F> {
    future: Pin<Box<F>>,
    truth: Arc<Truth>,
    waker: Option<(Waker, Waker)>, // the runtime's, and the one that tells
    runtime_id: u64,
    polled: Call, // begin and end of the last poll
}

impl<F: Future> Future for Traced<F> {
    type Output = F::Output;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        turn(this.truth.owner, POLL_SLACK_NS);
        let begin_ns = oracle::now_ns();
        this.begin_poll(context.waker(), begin_ns);
        let told = this.waker.as_ref().unwrap().1.clone();
        let result = this.future.as_mut().poll(&mut Context::from_waker(&told));
        this.polled.after_ns = oracle::now_ns();
        turn(0, POLL_SLACK_NS);
        result
    }
}

impl<F> Traced<F> {
    fn begin_poll(&mut self, waker: &Waker, begin_ns: u64) {
        let is_known = matches!(&self.waker, Some((inner, _)) if inner.will_wake(waker));
        if !is_known {
            self.runtime_id = runtime_id(waker);
            let told = TracedWaker { inner: waker.clone(), truth: self.truth.clone() };
            self.waker = Some((waker.clone(), Waker::from(Arc::new(told))));
        }
        let calls = std::mem::take(&mut *self.truth.wakes.lock().unwrap());
        if self.polled.tid != 0 {
            self.log_wake(&calls, begin_ns);
        }
        self.polled = Call { tid: oracle::own_tid(), before_ns: begin_ns, after_ns: 0 };
    }

    // The first wake since the last poll began is the one that counts. Where two may have been the
    // first, or the first is not back yet, nobody knows.
    fn log_wake(&self, calls: &[Call], begin_ns: u64) {
        let first = match calls.iter().min_by_key(|call| call.before_ns) {
            Some(first) => first,
            None => return,
        };
        let others = calls.iter().filter(|call| call.before_ns < first.after_ns).count();
        if first.after_ns == 0 || others > 1 {
            return;
        }
        let earliest_ns = self.polled.before_ns.max(begin_ns - POLL_SLACK_NS);
        self.log_edge(oracle::EDGE_QUEUE, *first, earliest_ns, begin_ns);
    }

    fn log_edge(&self, kind: u32, from: Call, earliest_ns: u64, latest_ns: u64) {
        oracle::add(Record {
            truth: oracle::EDGE,
            tid: from.tid,
            kind,
            operation: self.truth.id,
            owner: self.truth.owner,
            batch: oracle::new_id(),
            before_ns: from.before_ns,
            inner_from_ns: from.after_ns,
            inner_to_ns: from.before_ns.max(earliest_ns),
            after_ns: latest_ns,
            value: if kind == oracle::EDGE_SPAWN { 0 } else { oracle::own_tid() as u64 },
            ..Record::default()
        });
    }
}

impl<F> Drop for Traced<F> {
    fn drop(&mut self) {
        if self.polled.tid == 0 {
            return; // never polled: it has no name that anybody saw
        }
        let now_ns = oracle::now_ns();
        let spawned_ns = match self.truth.spawn_after_ns.load(Ordering::Acquire) {
            0 => now_ns,
            time_ns => time_ns,
        };
        let life = Record {
            operation: self.truth.id,
            owner: self.truth.owner,
            value: self.runtime_id,
            ..Record::default()
        };
        oracle::add(Record {
            truth: oracle::TASK_BEGIN,
            tid: self.truth.spawner,
            before_ns: self.truth.spawn_before_ns,
            after_ns: spawned_ns,
            ..life
        });
        oracle::add(Record {
            truth: oracle::TASK_END,
            before_ns: self.polled.before_ns.max(self.polled.after_ns),
            after_ns: now_ns + POLL_SLACK_NS,
            ..life
        });
        let spawn = Call {
            tid: self.truth.spawner,
            before_ns: self.truth.spawn_before_ns,
            after_ns: spawned_ns,
        };
        self.log_edge(oracle::EDGE_SPAWN, spawn, 0, spawned_ns);
    }
}

/// tokio::spawn, and the log says that the task works for `owner`.
pub fn spawn<F>(owner: u64, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let truth = Arc::new(Truth {
        id: oracle::new_id(),
        owner,
        spawner: oracle::own_tid(),
        spawn_before_ns: oracle::now_ns(),
        spawn_after_ns: AtomicU64::new(0),
        wakes: Mutex::new(Vec::new()),
    });
    let traced = Traced {
        future: Box::pin(future),
        truth: truth.clone(),
        waker: None,
        runtime_id: 0,
        polled: Call { tid: 0, before_ns: 0, after_ns: 0 },
    };
    let handle = tokio::spawn(traced);
    truth.spawn_after_ns.store(oracle::now_ns(), Ordering::Release);
    handle
}
