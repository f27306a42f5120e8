/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/idle_compress.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

enum state { IDLE_FREE, IDLE_ASKED, IDLE_WORKING, IDLE_DONE };

struct idle_compress {
	pthread_t thread;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t asked, done;
	enum state state;
	bool wanted; /* who asked still waits */
	bool closing;
	bool failed;
	size_t room;
	uint64_t cost_ns;
	/* The thread's while it works, else the asker's. */
	struct buf in, out;
	ZSTD_CCtx *zstd;
};

static uint64_t thread_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void compress(struct idle_compress *c)
{
	size_t bound = ZSTD_compressBound(c->in.len), n;
	char *p;

	buf_clear(&c->out);
	p = buf_reserve(&c->out, c->room + bound);
	n = ZSTD_compress2(c->zstd, p + c->room, bound, c->in.data, c->in.len);
	c->failed = ZSTD_isError(n);
	c->out.len = c->failed ? 0 : c->room + n;
}

static void *compressing_thread(void *arg)
{
	static const struct sched_param lowest = {0};
	struct idle_compress *c = arg;

	pthread_setname_np(pthread_self(), "compression");
	/* Where it is not allowed the deadline alone keeps it out of the way. */
	(void)pthread_setschedparam(pthread_self(), SCHED_IDLE, &lowest);
	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (c->state != IDLE_ASKED && !c->closing)
			pthread_cond_wait(&c->asked, &c->lock);
		if (c->closing)
			break;
		c->state = IDLE_WORKING;
		pthread_mutex_unlock(&c->lock);
		compress(c);
		pthread_mutex_lock(&c->lock);
		c->cost_ns = thread_ns();
		c->state = c->wanted ? IDLE_DONE : IDLE_FREE;
		pthread_cond_signal(&c->done);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

struct idle_compress *idle_compress_begin(int level, struct err *err)
{
	struct idle_compress *c = mem_zero(1, sizeof(*c));
	pthread_condattr_t attr;
	int errnum;

	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->asked, &attr);
	pthread_cond_init(&c->done, &attr);
	pthread_condattr_destroy(&attr);
	c->zstd = mem_must(ZSTD_createCCtx());
	ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, level);
	errnum = pthread_create(&c->thread, NULL, compressing_thread, c);
	if (!errnum)
		return c;
	err_set_errno(err, errnum, "cannot start the trace's compression");
	ZSTD_freeCCtx(c->zstd);
	mem_free(c);
	return NULL;
}

void idle_compress_end(struct idle_compress *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->closing = true;
	pthread_cond_signal(&c->asked);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	pthread_cond_destroy(&c->asked);
	pthread_cond_destroy(&c->done);
	pthread_mutex_destroy(&c->lock);
	ZSTD_freeCCtx(c->zstd);
	buf_release(&c->in);
	buf_release(&c->out);
	mem_free(c);
}

bool idle_compress(struct idle_compress *c, struct span body, size_t room, uint64_t deadline_ns,
	char **frame, size_t *len)
{
	struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
		.tv_nsec = (long)(deadline_ns % 1000000000u)};
	bool done;

	if (clock_mono_ns() >= deadline_ns)
		return false;
	pthread_mutex_lock(&c->lock);
	if (c->state != IDLE_FREE) {
		pthread_mutex_unlock(&c->lock);
		return false;
	}
	buf_clear(&c->in);
	buf_add_span(&c->in, body);
	c->room = room;
	c->wanted = true;
	c->state = IDLE_ASKED;
	pthread_cond_signal(&c->asked);
	while (c->state != IDLE_DONE && pthread_cond_timedwait(&c->done, &c->lock, &until) == 0)
		;
	done = c->state == IDLE_DONE;
	c->wanted = false;
	/* What was not begun is taken back; what was is thrown away when it is done. */
	if (c->state != IDLE_WORKING)
		c->state = IDLE_FREE;
	done = done && !c->failed;
	if (done) {
		*frame = c->out.data;
		*len = c->out.len - room;
	}
	pthread_mutex_unlock(&c->lock);
	return done;
}

uint64_t idle_compress_cost_ns(struct idle_compress *c)
{
	uint64_t cost;

	pthread_mutex_lock(&c->lock);
	cost = c->cost_ns;
	pthread_mutex_unlock(&c->lock);
	return cost;
}
