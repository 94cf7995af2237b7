/* What an in-process ring says about itself, from app.bpf.c to the recorder. */
/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
#ifndef CPROF_BPF_ADAPTERS_APP_H_
#define CPROF_BPF_ADAPTERS_APP_H_

#include <linux/types.h>

enum cprof_app_announcement_kind {
	CPROF_APP_RING_OWNER = 1, /* the current thread owns a ring from here on */
	CPROF_APP_NO_REGION = 2,  /* the process could not get memory for rings */
	CPROF_APP_EXEC = 3,	  /* a target runs another program now */
};

struct cprof_app_announcement {
	__u64 time_ns;
	__u64 region;	     /* address in the process */
	__u64 size_bytes;
	__u64 announcement;  /* ring << 48 | generation, see cprof.h */
	__u64 start_time_ns; /* of the thread */
	__u64 process_start_ns;
	__u32 tid;	     /* initial pid namespace */
	__u32 tgid;
	__u32 kind;
	__u32 is_target;
};

#endif /* CPROF_BPF_ADAPTERS_APP_H_ */
