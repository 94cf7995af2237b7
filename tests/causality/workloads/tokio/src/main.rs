// tokio_workload: requests that live in tasks of a real runtime, with the truth of every poll.
//
// Tasks are stolen between workers, woken by whoever happens to hold their waker, spawned out of
// tasks, cancelled while they sleep, and their memory is used again at once. A service task works
// for many requests in one poll, woken once for several of them.
mod oracle;
mod traced;

use oracle::Record;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

const HELP: &str = "usage: tokio_workload [options]
  --log FILE   where the truth goes (oracle.log)
  --count N    requests in all (10000)
  --rate N     requests a second, at most (5000; 0: no limit)
  --workers N  threads of the runtime (2)
  --work N     microseconds of a step, at most (20)
  --ops LIST   yield,nested,channel,blocking,timer,cancel,churn (all but churn)
  --seed N     (1)
";

extern "C" {
    fn mark_begin(handle: u64);
    fn mark_end(handle: u64);
    fn mark_enter(handle: u64);
    fn mark_leave(handle: u64);
}

#[derive(Clone)]
struct Options {
    log: String,
    count: u64,
    rate: u64,
    workers: u64,
    work: u64,
    seed: u64,
    ops: Vec<String>,
}

fn read_options() -> Option<Options> {
    let mut options = Options {
        log: "oracle.log".into(),
        count: 10000,
        rate: 5000,
        workers: 2,
        work: 20,
        seed: 1,
        ops: ["yield", "nested", "channel", "blocking", "timer", "cancel"].map(String::from).into(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--log" => options.log = value,
            "--count" => options.count = value.parse().ok()?,
            "--rate" => options.rate = value.parse().ok()?,
            "--workers" => options.workers = value.parse().ok()?,
            "--work" => options.work = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--ops" => options.ops = value.split(',').map(String::from).collect(),
            _ => return None,
        }
    }
    let known = ["yield", "nested", "channel", "blocking", "timer", "cancel", "churn"];
    let are_known = options.ops.iter().all(|op| known.contains(&op.as_str()));
    (are_known && !options.ops.is_empty() && options.workers > 0).then(|| options)
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn spin(time_ns: u64) {
    let until_ns = oracle::now_ns() + time_ns;
    while oracle::now_ns() < until_ns {}
}

// One item for the service: for whom, how long, and where to say that it is done.
struct Item {
    request: u64,
    work_ns: u64,
    done: oneshot::Sender<()>,
}

struct Shared {
    options: Options,
    free: Mutex<Vec<u64>>, // handles; the one freed last is given out next
    next_handle: AtomicU64,
    service: mpsc::UnboundedSender<Item>,
}

#[derive(Clone, Copy)]
struct Request {
    id: u64,
    handle: u64,
}

fn log_life(truth: u32, request: Request, before_ns: u64) {
    oracle::add(Record {
        truth,
        operation: request.id,
        value: request.handle,
        before_ns,
        after_ns: oracle::now_ns(),
        ..Record::default()
    });
}

fn begin(shared: &Shared) -> Request {
    let free = shared.free.lock().unwrap().pop();
    let handle = free.unwrap_or_else(|| shared.next_handle.fetch_add(1, Ordering::Relaxed));
    let request = Request { id: oracle::new_id(), handle };
    let before_ns = oracle::now_ns();
    unsafe { mark_begin(handle) };
    log_life(oracle::REQUEST_BEGIN, request, before_ns);
    request
}

fn end(shared: &Shared, request: Request) {
    let before_ns = oracle::now_ns();
    unsafe { mark_end(request.handle) };
    log_life(oracle::REQUEST_END, request, before_ns);
    shared.free.lock().unwrap().push(request.handle);
}

// Work of a closure on a thread of the blocking pool, for the request.
async fn block(request: u64, work_ns: u64) {
    let closure = move || traced::work_for(request, || spin(work_ns));
    tokio::task::spawn_blocking(closure).await.unwrap();
}

async fn step(shared: Arc<Shared>, request: u64, op: String, seed: u64) {
    let mut random = Random(seed | 1);
    let work_ns = random.below(shared.options.work * 1000 + 1);
    spin(work_ns);
    match op.as_str() {
        "yield" => tokio::task::yield_now().await,
        "timer" => tokio::time::sleep(Duration::from_micros(1 + random.below(2000))).await,
        "blocking" => block(request, work_ns).await,
        "channel" => {
            let (done, answer) = oneshot::channel();
            let item = Item { request, work_ns, done };
            if shared.service.send(item).is_ok() {
                let _ = answer.await;
            }
        }
        "cancel" => {
            let sleeper = traced::spawn(request, async {
                tokio::time::sleep(Duration::from_secs(3600)).await;
            });
            tokio::task::yield_now().await;
            sleeper.abort();
            let _ = sleeper.await;
        }
        "churn" => {
            for _ in 0..100 {
                let _ = traced::spawn(request, async {}).await;
            }
        }
        _ => {
            let mut children = Vec::new();
            for _ in 0..1 + random.below(3) {
                children.push(traced::spawn(request, async move {
                    spin(work_ns / 2);
                    tokio::task::yield_now().await;
                    spin(work_ns / 2);
                }));
            }
            for child in children {
                let _ = child.await;
            }
        }
    }
    spin(work_ns / 4);
}

async fn handle(shared: Arc<Shared>, request: Request, seed: u64) {
    let mut random = Random(seed | 1);
    for _ in 0..1 + random.below(3) {
        let op = shared.options.ops[random.below(shared.options.ops.len() as u64) as usize].clone();
        step(shared.clone(), request.id, op, random.below(u64::MAX)).await;
    }
    end(&shared, request);
    traced::turn(0, 0); // what is left of the poll is nobody's
}

// Works for whoever's item comes; woken once, it may find several.
async fn serve(mut items: mpsc::UnboundedReceiver<Item>) {
    while let Some(item) = items.recv().await {
        traced::work_for(item.request, || spin(item.work_ns));
        let _ = item.done.send(());
    }
}

async fn accept(shared: Arc<Shared>) {
    let mut random = Random(shared.options.seed.wrapping_mul(0x9e3779b97f4a7c15) | 1);
    let begin_ns = oracle::now_ns();
    let mut handlers = Vec::new();
    for index in 0..shared.options.count {
        if shared.options.rate > 0 {
            let due_ns = begin_ns + index * 1_000_000_000 / shared.options.rate;
            let now_ns = oracle::now_ns();
            if due_ns > now_ns {
                tokio::time::sleep(Duration::from_nanos(due_ns - now_ns)).await;
            }
        } else if index % 64 == 63 {
            tokio::task::yield_now().await;
        }
        let request = begin(&shared);
        // Entered while its task is spawned, so that a profiler can know whose the task is.
        let before = traced::turn(request.id, 0);
        unsafe { mark_enter(request.handle) };
        let future = handle(shared.clone(), request, random.below(u64::MAX));
        handlers.push(traced::spawn(request.id, future));
        unsafe { mark_leave(request.handle) };
        traced::turn(before, 0);
        if handlers.len() >= 1024 {
            for handler in handlers.drain(..) {
                let _ = handler.await;
            }
        }
    }
    for handler in handlers {
        let _ = handler.await;
    }
}

fn main() {
    let options = match read_options() {
        Some(options) => options,
        None => {
            eprint!("{}", HELP);
            std::process::exit(2);
        }
    };
    let is_churning = options.ops.iter().any(|op| op == "churn");
    let records = options.count * if is_churning { 3000 } else { 300 } + (1 << 16);
    if let Err(error) = oracle::create(&options.log, records) {
        eprintln!("tokio_workload: error: cannot create {}: {}", options.log, error);
        std::process::exit(1);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.workers as usize)
        .thread_name("truth-tokio")
        .enable_time()
        .build()
        .expect("a runtime");
    let (service, items) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared {
        options: options.clone(),
        free: Mutex::new(Vec::new()),
        next_handle: AtomicU64::new(1),
        service,
    });
    runtime.block_on(async move {
        let server = traced::spawn(0, serve(items));
        traced::spawn(0, accept(shared)).await.expect("the acceptor");
        let _ = server.await;
    });
    drop(runtime);
    println!("requests {}", options.count);
}
