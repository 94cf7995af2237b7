// Writes the oracle log; its records are those of tests/causality/oracle.h.
use std::cell::Cell;
use std::ffi::CString;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

pub const REQUEST_BEGIN: u32 = 4;
pub const REQUEST_END: u32 = 5;
pub const TASK_BEGIN: u32 = 6;
pub const TASK_END: u32 = 7;
pub const WORK: u32 = 9;
pub const WATCHED: u32 = 10;
pub const EDGE: u32 = 11;
pub const COST: u32 = 14;

pub const EDGE_SPAWN: u32 = 2;
pub const EDGE_QUEUE: u32 = 3;
pub const COST_CPU: u32 = 1;

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Record {
    pub truth: u32,
    pub tid: u32,
    pub sequence: u32,
    pub kind: u32,
    pub operation: u64,
    pub owner: u64,
    pub batch: u64,
    pub before_ns: u64,
    pub after_ns: u64,
    pub inner_from_ns: u64,
    pub inner_to_ns: u64,
    pub value: u64,
}
const RECORD_BYTES: usize = std::mem::size_of::<Record>();

static RECORDS: AtomicPtr<Record> = AtomicPtr::new(std::ptr::null_mut());
static CAPACITY: AtomicU64 = AtomicU64::new(0);
static NEXT: AtomicU64 = AtomicU64::new(0);
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// CLOCK_MONOTONIC, the clock of every recorded event.
pub fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

pub fn own_tid() -> u32 {
    thread_local!(static TID: Cell<u32> = Cell::new(0));
    TID.with(|tid| {
        if tid.get() == 0 {
            tid.set(unsafe { libc::syscall(libc::SYS_gettid) } as u32);
        }
        tid.get()
    })
}


/// Hidden ids: unique in this log, never 0.
pub fn new_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// Makes the log with room for `capacity` records.
pub fn create(path: &str, capacity: u64) -> std::io::Result<()> {
    let path = CString::new(path)?;
    let size = (capacity as usize + 1) * RECORD_BYTES;
    unsafe {
        libc::unlink(path.as_ptr());
        let fd = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 0o600);
        if fd < 0 || libc::ftruncate(fd, size as libc::off_t) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let memory = libc::mmap(std::ptr::null_mut(), size, protection, libc::MAP_SHARED, fd, 0);
        libc::close(fd);
        if memory == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        let header = memory as *mut u8;
        std::ptr::copy_nonoverlapping(b"cprorcl1".as_ptr(), header, 8);
        (header.add(8) as *mut u32).write(RECORD_BYTES as u32);
        (header.add(12) as *mut u32).write(std::process::id());
        (header.add(16) as *mut u64).write(capacity);
        CAPACITY.store(capacity, Ordering::Relaxed);
        RECORDS.store(header.add(RECORD_BYTES) as *mut Record, Ordering::Release);
    }
    Ok(())
}

/// Adds a record; its tid is the caller's where none is given. A log that overflows is no truth: it
/// ends the process.
pub fn add(mut record: Record) {
    let index = NEXT.fetch_add(1, Ordering::Relaxed);
    assert!(index < CAPACITY.load(Ordering::Relaxed), "the oracle log is full");
    if record.tid == 0 {
        record.tid = own_tid();
    }
    unsafe { RECORDS.load(Ordering::Acquire).add(index as usize).write(record) };
}
