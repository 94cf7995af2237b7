/* cprof.h: how a program tells cprof what its threads are working on. See cprof-app(3).
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One header, C11 or C++, no library to link. While nobody records, a call is one load and one
 * branch. While `cprof record` records this process, events go into a ring of the calling thread
 * in memory that the recorder reads. No call ever blocks, fails, changes errno or allocates from
 * the heap; a call inside a signal handler is fine.
 *
 *     cprof_node request = cprof_request("http", request_id);
 *     cprof_begin(request, "GET /index");
 *     cprof_enter(request);
 *     ...
 *     cprof_leave(request);
 *     cprof_end(request);
 */
#ifndef CPROF_CPROF_H_
#define CPROF_CPROF_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a node is. The numbers are those of recordings. */
enum cprof_kind {
  CPROF_KIND_REQUEST = 1,  /* work that somebody waits for */
  CPROF_KIND_TASK = 2,     /* a unit of work that threads take up */
  CPROF_KIND_RESOURCE = 3, /* what is held and waited for: a lock, a connection, a shard */
  CPROF_KIND_IO = 4        /* a reference to an io_uring request; never begun (cprof_io) */
};

/* What an edge says. The numbers are those of recordings. */
enum cprof_edge_type {
  CPROF_EDGE_SUBMIT = 1,
  CPROF_EDGE_COMPLETE = 2,
  CPROF_EDGE_QUEUE = 3,
  CPROF_EDGE_WAKE = 4,
  CPROF_EDGE_SPAWN = 5,
  CPROF_EDGE_RESUME = 6,
  CPROF_EDGE_ACQUIRE = 7,
  CPROF_EDGE_RELEASE = 8,
  CPROF_EDGE_SEND = 9,
  CPROF_EDGE_RECEIVE = 10
};

/*
 * Names a node of this process: (kind, domain, id). The domain is a short text that keeps the ids
 * of different parts of the program apart; up to 31 bytes are kept as they are, a longer one is
 * shortened with a hash. It must stay readable until the call that gets the node has returned.
 */
typedef struct cprof_node {
  uint64_t id_hi;
  uint64_t id_lo;
  const char* domain;
  uint32_t kind; /* enum cprof_kind */
} cprof_node;

/* ---- the shared memory: what this header writes and the recorder reads ---- */

#define CPROF_MAGIC_ 0x31676e69722d7063ULL /* "cp-ring1" */
#define CPROF_LAYOUT_VERSION_ 1u
#define CPROF_RING_EVENTS_ 16384u /* a power of two: 1 MiB a ring */
#define CPROF_RINGS_ 512u         /* 512 MiB of address space; memory only where rings are used */
#define CPROF_HEADER_BYTES_ 4096u
#define CPROF_MAX_EXTRA_ 4u /* further slots of one event */
#define CPROF_DOMAIN_BYTES_ 31u
#define CPROF_LOSS_VERBS_ 8u

/* One slot. Text is padded with zero bytes and has no terminator where it fills its field. */
struct cprof_slot_ {
  uint64_t time_ns;  /* CLOCK_MONOTONIC of the process */
  uint32_t sequence; /* of the attempt, low 32 bits */
  uint8_t verb;      /* enum cprof_verb of bpf/event.h; CPROF_APP_RING: a new owner of the ring */
  uint8_t kind;
  uint8_t kind2;
  uint8_t type;   /* enum cprof_edge_type */
  uint64_t id_hi; /* a new owner: its generation */
  uint64_t id_lo;
  union {
    struct {
      char text[CPROF_DOMAIN_BYTES_];
    } domain;
    struct {
      uint64_t id_hi;
      uint64_t id_lo;
      uint64_t wanted_ns;
    } to;
    struct {
      uint8_t before[CPROF_DOMAIN_BYTES_];
      uint8_t extra; /* slots that belong to this event and follow it */
    } tail;
  } u;
};
/* Extra slots: of begin, the name, 64 bytes a slot; of edge, one with both domains. */
struct cprof_domains_ {
  char from[32];
  char to[32];
};

/* Events that found no room, since the ring was made. begun and ended differ while one is noted. */
struct cprof_loss_ {
  uint64_t begun;
  uint64_t ended;
  uint64_t total;
  uint64_t first_ns; /* of those that the recorder has not acknowledged */
  uint64_t last_ns;
  uint64_t signature; /* cprof_signature_bit of each lost id, see bpf/event.h */
  uint64_t window;    /* acknowledged total at which first_ns and signature were cleared */
  uint64_t verbs[CPROF_LOSS_VERBS_]; /* by verb - CPROF_APP_BEGIN */
};

/* Positions count slots since the ring was made. Ring 0 has no slots: it counts the losses of
 * threads that got no ring. */
struct cprof_ring_ {
  /* written by the thread that owns the ring */
  uint64_t head;     /* everything before is complete */
  uint64_t reserved; /* differs from head while an event is being written */
  uint64_t attempted;
  uint64_t cached_tail;
  uint32_t owned; /* 0: nobody has it; CPROF_OWNED_; 1: a thread that does not say more */
  uint32_t nesting;
  uint64_t generation; /* of the owner; each announcement takes the next */
  uint64_t unused[2];
  /* written by the recorder */
  uint64_t tail;
  uint64_t tail_check;   /* tail * CPROF_CHECK_: the two are not written at once */
  uint64_t acknowledged; /* loss.total that the recorder knows */
  uint64_t unused2[5];
  struct cprof_loss_ loss;
  uint64_t unused3;
};
#define CPROF_CHECK_ 0x9e3779b97f4a7c15ULL
/* A thread has it whose announcements begin with that generation. */
#define CPROF_OWNED_(generation) ((uint32_t)(generation) | 0x80000000u)

struct cprof_region_ {
  uint64_t magic;
  uint32_t version;
  uint32_t ring_count;
  uint32_t ring_events;
  uint32_t unused;
  uint64_t size_bytes;
  uint64_t unused2[4];
  uint32_t epoch; /* written by the recorder: 0 never claimed; a change asks for announcements */
  uint32_t unused3[15];
  uint32_t rings_used; /* rings below this index have had an owner */
  uint32_t unused4[15];
};

#define CPROF_RINGS_OFFSET_ CPROF_HEADER_BYTES_
#define CPROF_SLOTS_OFFSET_(rings) \
  (CPROF_RINGS_OFFSET_ + (uint64_t)(rings) * (uint64_t)sizeof(struct cprof_ring_))
#define CPROF_REGION_BYTES_(rings) \
  (CPROF_SLOTS_OFFSET_(rings) +    \
   (uint64_t)(rings)*CPROF_RING_EVENTS_ * (uint64_t)sizeof(struct cprof_slot_))

/* Lies at the probe's semaphore, in the section .probes. */
struct cprof_live_ {
  volatile uint16_t count; /* how many record; kept by the kernel */
  uint16_t version;
  uint32_t seccomp_at_load; /* 1 + prctl(PR_GET_SECCOMP); 0 where not asked yet */
};

/* Arguments of the probe: region address, its size (0: none could be made), and this; 0 for a new
 * region, whose rings have no owner yet. */
#define CPROF_ANNOUNCE_(ring, generation) \
  ((uint64_t)(ring) << 48 | ((generation)&0xffffffffffffULL))

#ifdef __cplusplus
} /* extern "C" */
#endif

#ifndef CPROF_LAYOUT_ONLY_

#if defined(__linux__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__)) && \
    defined(__GNUC__) && !defined(CPROF_DISABLE)
#define CPROF_ENABLED_ 1

/* One hidden copy of everything in each executable or shared object, however many of its files
 * include this header. */
#define CPROF_ONE_ __attribute__((weak, visibility("hidden")))
#define CPROF_SLOW_ __attribute__((weak, visibility("hidden"), noinline, cold))
#define CPROF_FENCE_()                                                       \
  __atomic_signal_fence(__ATOMIC_SEQ_CST) /* against our own signal handlers \
                                           */

/* A handler may be the first in its thread to get here, and must not find the loader allocating
 * the thread's block. CPROF_ANY_TLS: for an object that is loaded late where room in the static
 * block is short. */
#if defined(__GLIBC__) && !defined(CPROF_ANY_TLS)
#define CPROF_TLS_ __attribute__((weak, visibility("hidden"), tls_model("initial-exec"))) __thread
#else
#define CPROF_TLS_ CPROF_ONE_ __thread
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The probe where a ring announces itself, and its live flag. An out-of-line function with a nop at
 * its entry: the kernel can emulate a nop (other instructions are traced ~50 times slower), and
 * nothing below the stack pointer is in use at the entry of a function. One group, of which the
 * linker keeps one copy; the condition is for link-time optimization, which assembles all copies
 * as one.
 */
#if defined(__x86_64__)
#define CPROF_PROBE_ARGS_ "8@%rdi 8@%rsi 8@%rdx"
#else
#define CPROF_PROBE_ARGS_ "8@x0 8@x1 8@x2"
#endif
__asm__(
    ".ifndef cprof_probe_v1_\n"
    ".pushsection .text.cprof_probe_v1_,\"axG\",%progbits,cprof_probe_v1_,comdat\n"
    ".weak cprof_probe_v1_\n"
    ".hidden cprof_probe_v1_\n"
    ".type cprof_probe_v1_,%function\n"
    "cprof_probe_v1_: nop\n"
    "ret\n"
    ".size cprof_probe_v1_,.-cprof_probe_v1_\n"
    ".popsection\n"
    ".pushsection .probes,\"awG\",%progbits,cprof_probe_v1_,comdat\n"
    /* A page of its own: lld lets segments share pages of the file, and the kernel counts in the
     * first writable mapping of the page, which would be that of .data.rel.ro. */
    ".balign 4096\n"
    ".weak cprof_live_v1_\n"
    ".hidden cprof_live_v1_\n"
    ".type cprof_live_v1_,%object\n"
    ".size cprof_live_v1_,8\n"
    "cprof_live_v1_: .2byte 0,1\n"
    ".4byte 0\n"
    ".popsection\n"
    ".pushsection .stapsdt.base,\"aG\",%progbits,.stapsdt.base,comdat\n"
    ".weak _.stapsdt.base\n"
    ".hidden _.stapsdt.base\n"
    "_.stapsdt.base: .space 1\n"
    ".size _.stapsdt.base,1\n"
    ".popsection\n"
    ".pushsection .note.stapsdt,\"G\",%note,cprof_probe_v1_,comdat\n"
    ".balign 4\n"
    ".4byte 992f-991f,994f-993f,3\n"
    "991: .asciz \"stapsdt\"\n"
    "992: .balign 4\n"
    "993: .8byte cprof_probe_v1_,_.stapsdt.base,cprof_live_v1_\n"
    ".asciz \"cprof\"\n"
    ".asciz \"ring\"\n"
    ".asciz \"" CPROF_PROBE_ARGS_
    "\"\n"
    "994: .balign 4\n"
    ".popsection\n"
    ".endif\n");

extern struct cprof_live_ cprof_live_v1_ __attribute__((visibility("hidden")));
extern void cprof_probe_v1_(const void* region, uint64_t size_bytes, uint64_t announcement)
    __attribute__((visibility("hidden")));

/* Of the C library by other names, so that it does not matter which features were asked of its
 * headers. */
struct cprof_timespec_ {
  long seconds;
  long nanoseconds;
};
extern int cprof_clock_gettime_(int clock, struct cprof_timespec_* time) __asm__("clock_gettime");
static int cprof_key_create_(unsigned* key, void (*destroy)(void*))
    __attribute__((weakref("pthread_key_create")));
static int cprof_key_delete_(unsigned key) __attribute__((weakref("pthread_key_delete")));
static int cprof_setspecific_(unsigned key, const void* value)
    __attribute__((weakref("pthread_setspecific")));
static int cprof_atfork_(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                         void* object) __attribute__((weakref("__register_atfork")));
extern void* __dso_handle __attribute__((visibility("hidden")));

/* A page of its own that a fork empties: the child sees that it has no region. */
struct cprof_guard_ {
  struct cprof_region_* region;
};

struct cprof_thread_ {
  struct cprof_region_* region; /* in which ring lies */
  struct cprof_ring_* ring;
  struct cprof_slot_* slots;
  uint32_t epoch; /* of the region when this thread announced itself */
  uint32_t busy;  /* 1: getting a ring; 2: silent for ever */
};

struct cprof_process_ {
  struct cprof_guard_* guard;
  uint32_t failed;    /* no memory for a region: silent from now on */
  uint32_t key_plus1; /* the thread-exit key; 0: none */
};

CPROF_TLS_ struct cprof_thread_ cprof_thread_v1_;
CPROF_ONE_ struct cprof_process_ cprof_process_v1_;

/* System calls without errno and without the C library's wrappers, which others may interpose. */
static inline long cprof_syscall_(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                  uint64_t e, uint64_t f) {
#if defined(__x86_64__)
  long result;
  register uint64_t r10 __asm__("r10") = d;
  register uint64_t r8 __asm__("r8") = e;
  register uint64_t r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory", "cc");
  return result;
#else
  register long x8 __asm__("x8") = number;
  register uint64_t x0 __asm__("x0") = a;
  register uint64_t x1 __asm__("x1") = b;
  register uint64_t x2 __asm__("x2") = c;
  register uint64_t x3 __asm__("x3") = d;
  register uint64_t x4 __asm__("x4") = e;
  register uint64_t x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory", "cc");
  return (long)x0;
#endif
}

#if defined(__x86_64__)
#define CPROF_NR_MMAP_ 9
#define CPROF_NR_MPROTECT_ 10
#define CPROF_NR_MUNMAP_ 11
#define CPROF_NR_MADVISE_ 28
#define CPROF_NR_PRCTL_ 157
#else
#define CPROF_NR_MMAP_ 222
#define CPROF_NR_MPROTECT_ 226
#define CPROF_NR_MUNMAP_ 215
#define CPROF_NR_MADVISE_ 233
#define CPROF_NR_PRCTL_ 167
#endif

/* Adds, atomically against signal handlers of this thread only. */
static inline uint64_t cprof_add_local_(uint64_t* counter, uint64_t value) {
#if defined(__x86_64__)
  __asm__ volatile("xaddq %0,%1" : "+r"(value), "+m"(*counter) : : "memory", "cc");
  return value;
#else
  return __atomic_fetch_add(counter, value, __ATOMIC_RELAXED);
#endif
}

/* CLOCK_MONOTONIC in ns, the clock of all events: for `wanted_ns`. */
static inline uint64_t cprof_now(void) {
  struct cprof_timespec_ now;
  now.seconds = 0;
  now.nanoseconds = 0;
  (void)cprof_clock_gettime_(1, &now);
  return (uint64_t)now.seconds * 1000000000u + (uint64_t)now.nanoseconds;
}

/* ---- getting a region and a ring ---- */

/* Mapped without access first: a program that locks its memory (MCL_FUTURE) would get all of it at
 * once. */
static inline void* cprof_map_(uint64_t size_bytes, uint64_t flags, uint64_t advice) {
  long address = cprof_syscall_(CPROF_NR_MMAP_, 0, size_bytes, 0 /* no access */,
                                flags | 0x20 /* anonymous */, ~(uint64_t)0, 0);
  if (address < 0 && address > -4096) {
    return (void*)0;
  }
  if (cprof_syscall_(CPROF_NR_MADVISE_, (uint64_t)address, size_bytes, advice, 0, 0, 0) != 0 ||
      cprof_syscall_(CPROF_NR_MPROTECT_, (uint64_t)address, size_bytes, 3 /* read, write */, 0, 0,
                     0) != 0) {
    (void)cprof_syscall_(CPROF_NR_MUNMAP_, (uint64_t)address, size_bytes, 0, 0, 0, 0);
    return (void*)0;
  }
  return (void*)address;
}

static inline struct cprof_guard_* cprof_get_guard_(void) {
  struct cprof_guard_* guard = __atomic_load_n(&cprof_process_v1_.guard, __ATOMIC_ACQUIRE);
  if (guard == (struct cprof_guard_*)0) {
    struct cprof_guard_* mine =
        (struct cprof_guard_*)cprof_map_(4096, 2 /* private */, 18 /* MADV_WIPEONFORK */);
    if (mine == (struct cprof_guard_*)0) {
      return mine;
    }
    if (__atomic_compare_exchange_n(&cprof_process_v1_.guard, &guard, mine, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      return mine;
    }
    (void)cprof_syscall_(CPROF_NR_MUNMAP_, (uint64_t)(uintptr_t)mine, 4096, 0, 0, 0, 0);
  }
  return guard;
}

static inline struct cprof_region_* cprof_new_region_(void) {
  uint32_t rings;
  for (rings = CPROF_RINGS_; rings >= 2; rings /= 4) {
    struct cprof_region_* region = (struct cprof_region_*)cprof_map_(
        CPROF_REGION_BYTES_(rings), 0x4001 /* shared, noreserve */, 10 /* MADV_DONTFORK */);
    if (region != (struct cprof_region_*)0) {
      (void)cprof_syscall_(CPROF_NR_MADVISE_, (uint64_t)(uintptr_t)region,
                           CPROF_REGION_BYTES_(rings), 16 /* MADV_DONTDUMP */, 0, 0, 0);
      region->version = CPROF_LAYOUT_VERSION_;
      region->ring_count = rings;
      region->ring_events = CPROF_RING_EVENTS_;
      region->size_bytes = CPROF_REGION_BYTES_(rings);
      region->rings_used = 1;
      __atomic_store_n(&region->magic, CPROF_MAGIC_, __ATOMIC_RELEASE);
      return region;
    }
  }
  return (struct cprof_region_*)0;
}

static inline struct cprof_ring_* cprof_rings_of_(struct cprof_region_* region) {
  return (struct cprof_ring_*)(void*)((char*)region + CPROF_RINGS_OFFSET_);
}

CPROF_SLOW_ void cprof_thread_exit_v1_(void* unused) {
  struct cprof_thread_* thread = &cprof_thread_v1_;
  struct cprof_guard_* guard = __atomic_load_n(&cprof_process_v1_.guard, __ATOMIC_ACQUIRE);
  (void)unused;
  if (guard != (struct cprof_guard_*)0 && thread->region == guard->region &&
      thread->ring != (struct cprof_ring_*)0) {
    struct cprof_ring_* ring = thread->ring;
    thread->ring = (struct cprof_ring_*)0;
    CPROF_FENCE_();
    __atomic_store_n(&ring->owned, 0u, __ATOMIC_RELEASE);
  }
}

/* The region of this process, made if need be; null where the system refuses. Whoever comes second
 * uses the first one's: no lock that a fork or a handler could find taken. */
CPROF_SLOW_ struct cprof_region_* cprof_get_region_v1_(void) {
  struct cprof_guard_* guard;
  struct cprof_region_ *region, *mine;
  unsigned key;
  uint32_t none = 0;
  if (cprof_process_v1_.failed) {
    return (struct cprof_region_*)0;
  }
  guard = cprof_get_guard_();
  mine = (struct cprof_region_*)0;
  if (guard != (struct cprof_guard_*)0) {
    region = __atomic_load_n(&guard->region, __ATOMIC_ACQUIRE);
    if (region != (struct cprof_region_*)0) {
      return region;
    }
    mine = cprof_new_region_();
  }
  if (mine == (struct cprof_region_*)0) {
    cprof_process_v1_.failed = 1;
    cprof_probe_v1_((void*)0, 0, 0);
    return mine;
  }
  if (cprof_key_create_ && cprof_setspecific_ && cprof_key_delete_ &&
      !cprof_process_v1_.key_plus1 && cprof_key_create_(&key, cprof_thread_exit_v1_) == 0 &&
      !__atomic_compare_exchange_n(&cprof_process_v1_.key_plus1, &none, key + 1, 0,
                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    (void)cprof_key_delete_(key);
  }
  region = (struct cprof_region_*)0;
  if (__atomic_compare_exchange_n(&guard->region, &region, mine, 0, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    cprof_probe_v1_(mine, mine->size_bytes, 0); /* the recorder gets hold of it before we end */
    return mine;
  }
  (void)cprof_syscall_(CPROF_NR_MUNMAP_, (uint64_t)(uintptr_t)mine, mine->size_bytes, 0, 0, 0, 0);
  return region;
}

/* Whether `count` more slots fit and leave room for handlers that interrupt us. */
static inline int cprof_fits_(struct cprof_ring_* ring, uint64_t count, uint64_t limit) {
  uint64_t tail, reserved = *(volatile uint64_t*)&ring->reserved;
  if (reserved + count - ring->cached_tail <= limit) {
    return 1;
  }
  tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
  if (__atomic_load_n(&ring->tail_check, __ATOMIC_ACQUIRE) != tail * CPROF_CHECK_ ||
      tail - ring->cached_tail > reserved - ring->cached_tail) {
    return 0; /* half written, or damaged */
  }
  ring->cached_tail = tail;
  return reserved + count - tail <= limit;
}

#define CPROF_MAX_NESTING_ 32u
#define CPROF_LIMIT_ (CPROF_RING_EVENTS_ - CPROF_MAX_NESTING_ * (1u + CPROF_MAX_EXTRA_))

/* Ends the writing of an event. Only the outermost writer publishes: then what lies before head is
 * complete. A handler that comes after the reading of reserved sees nesting 1 and leaves its event
 * to us, hence the loop; each turn needs another handler, so it ends. */
static inline void cprof_publish_(struct cprof_ring_* ring, uint32_t nesting) {
  uint64_t reserved;
  CPROF_FENCE_();
  if (nesting != 0) {
    *(volatile uint32_t*)&ring->nesting = nesting;
    return;
  }
  for (;;) {
    reserved = *(volatile uint64_t*)&ring->reserved;
    __atomic_store_n(&ring->head, reserved, __ATOMIC_RELEASE);
    *(volatile uint32_t*)&ring->nesting = 0;
    CPROF_FENCE_();
    if (*(volatile uint64_t*)&ring->reserved == reserved) {
      return;
    }
    *(volatile uint32_t*)&ring->nesting = 1;
    CPROF_FENCE_();
  }
}

/* Writes who owns the ring from here on, after telling the recorder outside the ring: so it knows
 * the thread before it can see its first event. Returns 0 where the ring has no room for that. */
static inline int cprof_announce_(struct cprof_thread_* thread, struct cprof_region_* region) {
  struct cprof_ring_* ring = thread->ring;
  struct cprof_slot_* slot;
  uint32_t nesting = *(volatile uint32_t*)&ring->nesting;
  uint32_t epoch = __atomic_load_n(&region->epoch, __ATOMIC_ACQUIRE);
  uint64_t index = (uint64_t)(ring - cprof_rings_of_(region));
  uint64_t generation;
  *(volatile uint32_t*)&ring->nesting = nesting + 1;
  CPROF_FENCE_();
  if (nesting >= CPROF_MAX_NESTING_ || !cprof_fits_(ring, 1, CPROF_LIMIT_)) {
    cprof_publish_(ring, nesting);
    return 0;
  }
  generation = ++ring->generation;
  cprof_probe_v1_(region, region->size_bytes, CPROF_ANNOUNCE_(index, generation));
  slot = &thread->slots[cprof_add_local_(&ring->reserved, 1) & (CPROF_RING_EVENTS_ - 1)];
  slot->time_ns = 0;
  slot->sequence = 0;
  slot->verb = 0x55; /* CPROF_APP_RING */
  slot->kind = slot->kind2 = slot->type = 0;
  slot->id_hi = generation;
  slot->id_lo = 0;
  slot->u.tail.extra = 0;
  cprof_publish_(ring, nesting);
  thread->epoch = epoch;
  return 1;
}

static inline int cprof_claim_(struct cprof_thread_* thread, struct cprof_region_* region) {
  struct cprof_ring_* rings = cprof_rings_of_(region);
  uint32_t index, used;
  for (index = 1; index < region->ring_count; ++index) {
    uint32_t free_ring = 0;
    if (__atomic_load_n(&rings[index].owned, __ATOMIC_RELAXED) ||
        !__atomic_compare_exchange_n(&rings[index].owned, &free_ring, 1u, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED)) {
      continue;
    }
    if (!cprof_fits_(&rings[index], 1, CPROF_RING_EVENTS_ / 2)) {
      __atomic_store_n(&rings[index].owned, 0u, __ATOMIC_RELEASE); /* not drained yet */
      continue;
    }
    used = __atomic_load_n(&region->rings_used, __ATOMIC_RELAXED);
    while (used <= index && !__atomic_compare_exchange_n(&region->rings_used, &used, index + 1, 0,
                                                         __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    __atomic_store_n(&rings[index].owned, CPROF_OWNED_(rings[index].generation + 1),
                     __ATOMIC_RELAXED);
    rings[index].nesting = 0;
    thread->region = region;
    thread->slots =
        (struct cprof_slot_*)(void*)((char*)region + CPROF_SLOTS_OFFSET_(region->ring_count)) +
        (uint64_t)index * CPROF_RING_EVENTS_;
    thread->epoch = ~__atomic_load_n(&region->epoch, __ATOMIC_RELAXED); /* to be announced */
    thread->ring = &rings[index];
    return 1;
  }
  return 0;
}

/* The ring of this thread, after the quick check failed. Where *usable is 0 the event must be
 * counted as lost in the ring returned (ring 0: this thread has none), which is null without a
 * region. */
CPROF_SLOW_ struct cprof_ring_* cprof_find_ring_v1_(int* usable) {
  struct cprof_thread_* thread = &cprof_thread_v1_;
  struct cprof_region_* region;
  uint32_t key_plus1;
  *usable = 0;
  if (thread->busy == 2) {
    return (struct cprof_ring_*)0;
  }
  if (thread->busy) { /* a handler in the middle of this function */
    struct cprof_guard_* guard = __atomic_load_n(&cprof_process_v1_.guard, __ATOMIC_ACQUIRE);
    region = guard ? __atomic_load_n(&guard->region, __ATOMIC_ACQUIRE) : (struct cprof_region_*)0;
    return region ? cprof_rings_of_(region) : (struct cprof_ring_*)0;
  }
  thread->busy = 1;
  CPROF_FENCE_();
  region = cprof_get_region_v1_();
  if (region != (struct cprof_region_*)0) {
    if (thread->region != region) { /* the first event, or the first one after fork */
      thread->ring = (struct cprof_ring_*)0;
    }
    if (thread->ring == (struct cprof_ring_*)0 && cprof_claim_(thread, region)) {
      key_plus1 = cprof_process_v1_.key_plus1;
      /* Beyond the first 32 keys the C library would allocate, which a handler must not. Such a
       * ring stays owned until the recorder sees that its thread is gone. */
      if (key_plus1 != 0 && key_plus1 <= 32) {
        (void)cprof_setspecific_(key_plus1 - 1, thread);
      }
    }
    *usable = thread->ring != (struct cprof_ring_*)0 && cprof_announce_(thread, region);
  }
  CPROF_FENCE_();
  thread->busy = 0;
  if (region == (struct cprof_region_*)0) {
    return (struct cprof_ring_*)0;
  }
  return thread->ring ? thread->ring : cprof_rings_of_(region);
}

/* ---- writing events ---- */

/* Notes an event that found no room. Ring 0 has many writers, hence atomic; there nothing is ever
 * cleared: a signature with too many bits is right, one with too few is not. */
CPROF_SLOW_ void cprof_lose_v1_(struct cprof_ring_* ring, int shared, uint32_t verb,
                                const cprof_node* from, const cprof_node* to) {
  struct cprof_loss_* loss = &ring->loss;
  uint64_t begun = __atomic_fetch_add(&loss->begun, 1, __ATOMIC_SEQ_CST);
  uint64_t now_ns = cprof_now(); /* not before the recorder can see us */
  uint64_t acknowledged, known_ns, bits;
  if (!shared && begun == __atomic_load_n(&loss->ended, __ATOMIC_RELAXED)) {
    acknowledged = __atomic_load_n(&ring->acknowledged, __ATOMIC_RELAXED);
    if (loss->total == acknowledged && loss->window != acknowledged) {
      loss->window = acknowledged;
      loss->first_ns = 0;
      loss->signature = 0;
    }
  }
  known_ns = __atomic_load_n(&loss->first_ns, __ATOMIC_RELAXED);
  while ((known_ns == 0 || known_ns > now_ns) &&
         !__atomic_compare_exchange_n(&loss->first_ns, &known_ns, now_ns, 0, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
  known_ns = __atomic_load_n(&loss->last_ns, __ATOMIC_RELAXED);
  while (known_ns < now_ns &&
         !__atomic_compare_exchange_n(&loss->last_ns, &known_ns, now_ns, 0, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
  bits = (uint64_t)1 << ((from->id_lo * CPROF_CHECK_) >> 58);
  bits |= (uint64_t)1 << (((to ? to->id_lo : 0) * CPROF_CHECK_) >> 58);
  (void)__atomic_fetch_or(&loss->signature, bits, __ATOMIC_RELAXED);
  /* In this order: who reads a count finds the attempt, the times and the bits that go with it. */
  (void)__atomic_fetch_add(&ring->attempted, 1, __ATOMIC_RELEASE);
  (void)__atomic_fetch_add(&loss->verbs[(verb - 0x50) % CPROF_LOSS_VERBS_], 1, __ATOMIC_RELEASE);
  (void)__atomic_fetch_add(&loss->total, 1, __ATOMIC_SEQ_CST);
  (void)__atomic_fetch_add(&loss->ended, 1, __ATOMIC_SEQ_CST);
}

CPROF_SLOW_ void cprof_shorten_v1_(char* to, const char* text) {
  static const char digits[] = "0123456789abcdef";
  uint64_t hash = 0xcbf29ce484222325ULL;
  uint32_t i;
  for (i = 0; text[i] != '\0'; ++i) {
    hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ULL;
  }
  to[18] = '~';
  for (i = 0; i < 12; ++i) {
    to[19 + i] = digits[(hash >> (4 * i)) & 15];
  }
}

static inline void cprof_copy_domain_(char* to, const char* text) {
  uint32_t i;
  if (text == (const char*)0) {
    return;
  }
  for (i = 0; text[i] != '\0'; ++i) {
    if (i == CPROF_DOMAIN_BYTES_) {
      cprof_shorten_v1_(to, text);
      return;
    }
    to[i] = text[i];
  }
}

static inline uint32_t cprof_name_length_(const char* name) {
  uint32_t length = 0;
  if (name != (const char*)0) {
    while (length < CPROF_MAX_EXTRA_ * 64u && name[length] != '\0') {
      ++length;
    }
  }
  return length;
}

static inline void cprof_fill_(struct cprof_slot_* slots, uint64_t position, uint32_t extra,
                               const cprof_node* from, const cprof_node* to, uint64_t wanted_ns,
                               const char* name, uint32_t length) {
  struct cprof_slot_* slot = &slots[position & (CPROF_RING_EVENTS_ - 1)];
  uint32_t i, k;
  slot->id_hi = from->id_hi;
  slot->id_lo = from->id_lo;
  if (to != (const cprof_node*)0) {
    struct cprof_domains_* domains =
        (struct cprof_domains_*)(void*)&slots[(position + 1) & (CPROF_RING_EVENTS_ - 1)];
    slot->u.to.id_hi = to->id_hi;
    slot->u.to.id_lo = to->id_lo;
    slot->u.to.wanted_ns = wanted_ns;
    __builtin_memset(domains, 0, sizeof(*domains));
    cprof_copy_domain_(domains->from, from->domain);
    cprof_copy_domain_(domains->to, to->domain);
    slot->u.tail.extra = 1;
    return;
  }
  __builtin_memset(&slot->u, 0, sizeof(slot->u));
  cprof_copy_domain_(slot->u.domain.text, from->domain);
  for (i = 0; i < extra; ++i) {
    char* text = (char*)&slots[(position + 1 + i) & (CPROF_RING_EVENTS_ - 1)];
    __builtin_memset(text, 0, sizeof(*slot));
    for (k = 0; k < 64 && i * 64 + k < length; ++k) {
      text[k] = name[i * 64 + k];
    }
  }
  slot->u.tail.extra = (uint8_t)extra;
}

/* One event while somebody records. verb: enum cprof_verb | enum cprof_edge_type << 8. */
CPROF_ONE_ __attribute__((noinline)) void cprof_emit_v1_(uint32_t verb, const cprof_node* from,
                                                         const cprof_node* to, uint64_t wanted_ns,
                                                         const char* name) {
  struct cprof_thread_* thread = &cprof_thread_v1_;
  struct cprof_guard_* guard = __atomic_load_n(&cprof_process_v1_.guard, __ATOMIC_ACQUIRE);
  struct cprof_ring_* ring = thread->ring;
  struct cprof_slot_* slot;
  int usable;
  uint32_t nesting, length = cprof_name_length_(name);
  uint32_t extra = to ? 1u : (length + 63u) / 64u;
  uint64_t position;
  if (__builtin_expect(ring == (struct cprof_ring_*)0 || guard == (struct cprof_guard_*)0 ||
                           thread->region != guard->region ||
                           thread->epoch != *(volatile uint32_t*)&thread->region->epoch,
                       0)) {
    ring = cprof_find_ring_v1_(&usable);
    if (!usable) {
      if (ring != (struct cprof_ring_*)0) {
        cprof_lose_v1_(ring, ring != thread->ring, verb & 0xff, from, to);
      }
      return;
    }
  }
  nesting = *(volatile uint32_t*)&ring->nesting;
  *(volatile uint32_t*)&ring->nesting = nesting + 1;
  CPROF_FENCE_();
  if (__builtin_expect(
          nesting >= CPROF_MAX_NESTING_ || !cprof_fits_(ring, 1u + extra, CPROF_LIMIT_), 0)) {
    cprof_lose_v1_(ring, 0, verb & 0xff, from, to);
    cprof_publish_(ring, nesting);
    return;
  }
  position = cprof_add_local_(&ring->reserved, 1u + extra);
  slot = &thread->slots[position & (CPROF_RING_EVENTS_ - 1)];
  slot->sequence = (uint32_t)cprof_add_local_(&ring->attempted, 1);
  slot->time_ns = cprof_now();
  slot->verb = (uint8_t)verb;
  slot->kind = (uint8_t)from->kind;
  slot->kind2 = to ? (uint8_t)to->kind : (uint8_t)0;
  slot->type = (uint8_t)(verb >> 8);
  cprof_fill_(thread->slots, position, extra, from, to, wanted_ns, name, length);
  cprof_publish_(ring, nesting);
}

/* ---- at load and unload of this object ---- */

__attribute__((constructor)) CPROF_ONE_ void cprof_load_v1_(void);
__attribute__((destructor)) CPROF_ONE_ void cprof_unload_v1_(void);

/* Now rather than at the first event: before the program, or the child, may shut itself in so that
 * a system call would be its end. */
CPROF_ONE_ void cprof_forked_v1_(void) {
  if (cprof_live_v1_.count != 0) {
    (void)cprof_get_region_v1_();
  }
}

/* Each file that includes this header calls it; the first call counts. */
CPROF_ONE_ void cprof_load_v1_(void) {
  if (cprof_live_v1_.seccomp_at_load == 0) {
    /* The recorder leaves alone a process that has been put under seccomp since. */
    long mode = cprof_syscall_(CPROF_NR_PRCTL_, 21 /* PR_GET_SECCOMP */, 0, 0, 0, 0, 0);
    cprof_live_v1_.seccomp_at_load = mode > 0 ? (uint32_t)mode + 1u : 1u;
    if (cprof_atfork_) {
      (void)cprof_atfork_((void (*)(void))0, (void (*)(void))0, cprof_forked_v1_, &__dso_handle);
    }
    cprof_forked_v1_();
  }
}

/* A thread that ends after dlclose must not call into what is gone. */
CPROF_ONE_ void cprof_unload_v1_(void) {
  uint32_t key_plus1 = __atomic_exchange_n(&cprof_process_v1_.key_plus1, 0u, __ATOMIC_ACQ_REL);
  if (key_plus1 != 0) {
    (void)cprof_key_delete_(key_plus1 - 1);
  }
}

#ifdef __cplusplus
} /* extern "C" */
#endif

/* Whether anybody records this process now. */
static inline int cprof_live(void) { return (int)__builtin_expect(cprof_live_v1_.count != 0, 0); }

/* Gets the memory for rings now. For programs that put themselves under seccomp later. */
static inline void cprof_prepare(void) { (void)cprof_get_region_v1_(); }

/* From now on no event of this thread is written, nor counted. For a thread that is about to enter
 * SECCOMP_MODE_STRICT, which takes the clock away: reading it would be its end. */
static inline void cprof_silence(void) {
  cprof_thread_exit_v1_((void*)0);
  cprof_thread_v1_.busy = 2;
}

#else /* not a system that cprof records */

static inline int cprof_live(void) { return 0; }
static inline void cprof_prepare(void) {}
static inline void cprof_silence(void) {}
static inline uint64_t cprof_now(void) { return 0; }
static inline void cprof_emit_v1_(uint32_t verb, const cprof_node* from, const cprof_node* to,
                                  uint64_t wanted_ns, const char* name) {
  (void)verb, (void)from, (void)to, (void)wanted_ns, (void)name;
}

#endif

/* ---- nodes ---- */

static inline cprof_node cprof_node_of(enum cprof_kind kind, const char* domain, uint64_t id_hi,
                                       uint64_t id_lo) {
  cprof_node node;
  node.id_hi = id_hi;
  node.id_lo = id_lo;
  node.domain = domain;
  node.kind = (uint32_t)kind;
  return node;
}
static inline cprof_node cprof_request(const char* domain, uint64_t id) {
  return cprof_node_of(CPROF_KIND_REQUEST, domain, 0, id);
}
static inline cprof_node cprof_task(const char* domain, uint64_t id) {
  return cprof_node_of(CPROF_KIND_TASK, domain, 0, id);
}
static inline cprof_node cprof_resource(const char* domain, uint64_t id) {
  return cprof_node_of(CPROF_KIND_RESOURCE, domain, 0, id);
}
/* The io_uring request that this process submits on ring_fd with user_data: to say who owns it
 * (submit edge to it) or what it resumes (complete or resume edge from it). */
static inline cprof_node cprof_io(int ring_fd, uint64_t user_data) {
  return cprof_node_of(CPROF_KIND_IO, "", (uint64_t)(uint32_t)ring_fd, user_data);
}

/* ---- the five verbs ---- */

/* The node begins to exist. The name, for people, may be null; up to 256 bytes are kept. */
static inline void cprof_begin(cprof_node node, const char* name) {
  if (cprof_live()) {
    cprof_emit_v1_(0x50, &node, (const cprof_node*)0, 0, name);
  }
}

static inline void cprof_end(cprof_node node) {
  if (cprof_live()) {
    cprof_emit_v1_(0x51, &node, (const cprof_node*)0, 0, (const char*)0);
  }
}

/* From here on this thread works for the node. Nests: the innermost counts. */
static inline void cprof_enter(cprof_node node) {
  if (cprof_live()) {
    cprof_emit_v1_(0x52, &node, (const cprof_node*)0, 0, (const char*)0);
  }
}

/* Closes this thread's innermost entry of that node, and no other one's. */
static inline void cprof_leave(cprof_node node) {
  if (cprof_live()) {
    cprof_emit_v1_(0x53, &node, (const cprof_node*)0, 0, (const char*)0);
  }
}

/* from caused to, now. An acquire goes from the resource to who got it, a release from who had it
 * to the resource. wanted_ns: for acquire, cprof_now() when the wait began; else 0. */
static inline void cprof_edge(cprof_node from, cprof_node to, enum cprof_edge_type type,
                              uint64_t wanted_ns) {
  if (cprof_live()) {
    cprof_emit_v1_(0x54u | (uint32_t)type << 8, &from, &to, wanted_ns, (const char*)0);
  }
}

#endif /* CPROF_LAYOUT_ONLY_ */

#endif /* CPROF_CPROF_H_ */
