/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proxy/relay.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "proxy/batched_parsing.h"
#include "proxy/session.h"

static void take_mail(struct relay_worker *w)
{
	struct relay_arrival *arrivals;
	size_t count;
	uint64_t drained;
	bool drain, stop;

	(void)!read(w->event_fd, &drained, sizeof(drained));
	pthread_mutex_lock(&w->lock);
	arrivals = w->arrivals;
	count = w->arrival_count;
	w->arrivals = NULL;
	w->arrival_count = w->arrival_capacity = 0;
	drain = w->drain;
	stop = w->stop;
	pthread_mutex_unlock(&w->lock);
	for (size_t i = 0; i < count; i++)
		session_open(w, &arrivals[i]);
	mem_free(arrivals);
	if ((drain || stop) && !w->draining) {
		struct session *next;

		relay_parse_later(w);
		w->draining = true;
		w->drain_deadline = clock_mono_ns() + w->options->drain_timeout_ns;
		for (struct session *s = w->sessions; s; s = next) {
			next = s->next;
			session_drain(s);
		}
	}
	w->stopping |= stop;
}

static void handle(struct relay_worker *w, const struct epoll_event *event)
{
	struct session *s = (struct session *)(uintptr_t)(event->data.u64 & ~UINT64_C(1));
	struct side *side;

	if (!event->data.u64) {
		take_mail(w);
		return;
	}
	if (s->dead)
		return;
	side = &s->side[event->data.u64 & 1];
	if (event->events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		side->readable = !side->eof;
	if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		side->hangup = true;
	if (event->events & EPOLLOUT)
		side->writable = true;
	if (UNLIKELY(side->send_waits_in) && side->readable) {
		side->send_waits_in = false;
		side->writable = true;
	}
	if (UNLIKELY(side->recv_waits_out) && side->writable) {
		side->recv_waits_out = false;
		side->readable = !side->eof;
	}
	if (s->in_ready)
		return; /* it has a turn coming */
	if (!s->connecting)
		session_work(s);
	else if (s->header_due)
		session_header_work(s);
	else if (side == &s->side[SERVER] && (event->events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		session_connected(s);
	else if (side == &s->side[CLIENT] && side->hangup)
		session_close(s, CLOSE_CLIENT_GONE_BEFORE_ANSWER);
}

/* Sessions that had their turn and have more to do, the one that waits longest first.  Those that have little to do,
 * and are found by epoll, are not to wait for all of them. */
static void run_ready(struct relay_worker *w)
{
	uint64_t until = w->ready ? clock_mono_ns() + RELAY_READY_NS : 0;

	while (w->ready) {
		struct session *s = w->ready;

		w->ready = s->next_ready;
		if (!w->ready)
			w->ready_end = &w->ready;
		s->in_ready = false;
		if (!s->dead)
			session_work(s);
		if (clock_mono_ns() >= until)
			break;
	}
}

/* Ends the sessions whose connection, or its header, did not come in time. */
static void expire_connecting(struct relay_worker *w)
{
	uint64_t now = clock_mono_ns();
	struct session *next;

	for (struct session *s = w->sessions; s && w->connecting; s = next) {
		next = s->next;
		if (now >= s->connect_deadline)
			session_expire_connecting(s);
	}
}

static void free_dead(struct relay_worker *w)
{
	struct session **at = &w->dead;

	while (*at) {
		struct session *s = *at;

		if (s->in_ready) {
			at = &s->next; /* the ready list still names it */
			continue;
		}
		*at = s->next;
		mem_free(s);
	}
}

static int epoll_timeout_ms(const struct relay_worker *w)
{
	if (w->ready)
		return 0;
	if (w->later.count)
		return (int)((w->options->later_ns + 999999) / 1000000);
	return w->connecting || w->draining ? 50 : -1;
}

static void *worker_main(void *arg)
{
	struct relay_worker *w = arg;
	struct epoll_event events[RELAY_EVENTS];

	pthread_setname_np(pthread_self(), "relay");
	for (;;) {
		int count = epoll_wait(w->epoll_fd, events, RELAY_EVENTS, epoll_timeout_ms(w));

		if ((count == 0 && !w->ready) || relay_is_time_to_parse(w))
			relay_parse_later(w);
		for (int i = 0; i < count; i++)
			handle(w, &events[i]);
		run_ready(w);
		if (UNLIKELY(w->held != NULL))
			relay_let_go_held(w);
		if (w->connecting)
			expire_connecting(w);
		if (w->draining) {
			if (w->stopping || clock_mono_ns() >= w->drain_deadline)
				while (w->sessions)
					session_close(w->sessions, CLOSE_SHUTDOWN);
			if (!w->sessions && !w->ready)
				break;
		}
		free_dead(w);
	}
	free_dead(w);
	buf_release(&w->interposed[CLIENT]);
	buf_release(&w->interposed[SERVER]);
	capture_worker_close(&w->capture);
	return NULL;
}

bool relay_worker_start(struct relay_worker *worker, const struct relay_options *options,
	const struct capture_config *capture, struct trace_writer *writer, unsigned index,
	unsigned count, struct err *err)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0};
	sigset_t all, before;
	int code;

	memset(worker, 0, sizeof(*worker));
	worker->options = options;
	worker->ready_end = &worker->ready;
	worker->budget.max = options->buffer_size;
	pthread_mutex_init(&worker->lock, NULL);
	worker->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	worker->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (worker->epoll_fd < 0 || worker->event_fd < 0 ||
		epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, worker->event_fd, &event) < 0)
		return err_set_errno(err, errno, "cannot make a worker's epoll");
	capture_worker_open(&worker->capture, capture, writer, index, count);
	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&worker->thread, NULL, worker_main, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!code)
		return true;
	capture_worker_close(&worker->capture);
	close(worker->epoll_fd);
	close(worker->event_fd);
	pthread_mutex_destroy(&worker->lock);
	return err_set_errno(err, code, "cannot start a worker thread");
}

static void wake(struct relay_worker *worker)
{
	uint64_t one = 1;

	(void)!write(worker->event_fd, &one, sizeof(one));
}

void relay_worker_wake(struct relay_worker *worker)
{
	wake(worker);
}

void relay_worker_hand_over(struct relay_worker *worker, const struct relay_arrival *arrival)
{
	pthread_mutex_lock(&worker->lock);
	MEM_RESERVE(worker->arrivals, worker->arrival_count + 1, worker->arrival_capacity);
	worker->arrivals[worker->arrival_count++] = *arrival;
	pthread_mutex_unlock(&worker->lock);
	wake(worker);
}

void relay_worker_tell(struct relay_worker *worker, bool drain, bool stop)
{
	pthread_mutex_lock(&worker->lock);
	worker->drain |= drain;
	worker->stop |= stop;
	pthread_mutex_unlock(&worker->lock);
	wake(worker);
}

void relay_worker_join(struct relay_worker *worker)
{
	pthread_join(worker->thread, NULL);
	close(worker->epoll_fd);
	close(worker->event_fd);
	pthread_mutex_destroy(&worker->lock);
}
