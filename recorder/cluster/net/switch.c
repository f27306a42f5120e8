/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/net/switch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "cluster/net/spaces.h"
#include "workload/random_source.h"

enum {
	CHANGES_MAX = 256,  /* in force at once */
	WAITING_MAX = 4096, /* frames of one direction of a link */
	BURST = 64,         /* frames of one node in a row */
	REORDER_NS = 10000000, /* so long a frame is held back that others overtake */
	WORDS_MAX = 512,
	ANSWER_S = 5,
};

struct frame {
	uint64_t due, number; /* equal times: in the order of arrival */
	unsigned from, to, len;
	unsigned char bytes[];
};

struct link {
	struct net_state state;
	struct net_counts counts;
	struct random_source random;
	uint64_t free_at;  /* when its rate allows the next frame */
	uint64_t last_due; /* frames stay in order but those that are to be reordered */
	unsigned waiting;
};

struct in_force {
	uint64_t number;
	struct net_change change;
};

struct net {
	struct spaces spaces;
	pthread_t thread;
	pthread_mutex_t lock;
	atomic_uint asking; /* who waits for the lock: the thread, which hardly ever rests, lets them go first */
	int wake, control; /* control: a socket for words by hand; -1: none */
	bool end;
	struct link links[NET_NODES_MAX][NET_NODES_MAX];
	struct in_force changes[CHANGES_MAX];
	unsigned change_count;
	uint64_t next_number, next_frame;
	struct frame **heap; /* by due time */
	size_t heap_count, heap_room;
	net_told *told;
	void *ctx;
};

static void take_lock(struct net *net)
{
	atomic_fetch_add(&net->asking, 1);
	pthread_mutex_lock(&net->lock);
	atomic_fetch_sub(&net->asking, 1);
}

/* ---- frames that wait ---- */

static bool before(const struct frame *a, const struct frame *b)
{
	return a->due != b->due ? a->due < b->due : a->number < b->number;
}

static void push(struct net *net, struct frame *frame)
{
	size_t at = net->heap_count;

	MEM_RESERVE(net->heap, net->heap_count + 1, net->heap_room);
	net->heap_count++;
	while (at && before(frame, net->heap[(at - 1) / 2])) {
		net->heap[at] = net->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	net->heap[at] = frame;
}

static struct frame *pop(struct net *net)
{
	struct frame *first = net->heap[0], *last = net->heap[--net->heap_count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < net->heap_count) {
		if (child + 1 < net->heap_count && before(net->heap[child + 1], net->heap[child]))
			child++;
		if (before(last, net->heap[child]))
			break;
		net->heap[at] = net->heap[child];
		at = child;
	}
	net->heap[at] = last;
	return first;
}

/* ---- forwarding ---- */

static void deliver(struct net *net, unsigned from, unsigned to, const unsigned char *bytes, size_t len)
{
	/* A queue that is full loses frames, as a real one does. */
	if (write(net->spaces.tap[to], bytes, len) < 0)
		net->links[from][to].counts.full++;
}

static void wait_for(struct net *net, struct link *link, unsigned from, unsigned to, uint64_t due, const unsigned char *bytes, size_t len)
{
	struct frame *frame;

	if (link->waiting == WAITING_MAX) {
		link->counts.full++;
		return;
	}
	frame = mem_alloc(sizeof(*frame) + len);
	*frame = (struct frame){.due = due, .number = net->next_frame++, .from = from, .to = to, .len = (unsigned)len};
	memcpy(frame->bytes, bytes, len);
	link->waiting++;
	push(net, frame);
}

static uint64_t due_time(struct link *link, uint64_t now, size_t len, uint64_t draw, bool reorder)
{
	const struct net_state *s = &link->state;
	uint64_t due = now;

	if (s->rate) {
		due = (link->free_at > now ? link->free_at : now) + len * 1000000000u / s->rate;
		link->free_at = due;
	}
	due += s->delay_ns;
	if (s->jitter_ns)
		due = due - s->jitter_ns + draw % (2 * s->jitter_ns + 1);
	if (reorder)
		return due + REORDER_NS;
	if (due < link->last_due)
		due = link->last_due;
	link->last_due = due;
	return due;
}

static void forward(struct net *net, unsigned from, unsigned to, uint64_t now, const unsigned char *bytes, size_t len)
{
	struct link *link = &net->links[from][to];
	/* Drawn for each frame, whatever is in force, so that a frame's fate depends on its number alone. */
	uint64_t loss = random_below(&link->random, 1000000), twice = random_below(&link->random, 1000000);
	uint64_t late = random_below(&link->random, 1000000), draw = random_next(&link->random), due;
	bool reorder = late < link->state.reorder;

	link->counts.frames++;
	link->counts.bytes += len;
	if (link->state.cut) {
		link->counts.cut++;
		return;
	}
	if (loss < link->state.loss) {
		link->counts.lost++;
		return;
	}
	link->counts.reordered += reorder;
	due = due_time(link, now, len, draw, reorder);
	for (int copies = twice < link->state.duplicate ? 2 : 1; copies; copies--) {
		link->counts.duplicated += copies == 2;
		if (due <= now && !link->waiting)
			deliver(net, from, to, bytes, len);
		else
			wait_for(net, link, from, to, due, bytes, len);
	}
}

static void read_node(struct net *net, unsigned from)
{
	unsigned char bytes[2048];
	uint64_t now = clock_mono_ns();

	for (int i = 0; i < BURST; i++) {
		ssize_t got = read(net->spaces.tap[from], bytes, sizeof(bytes));
		unsigned to;

		if (got < 14)
			return;
		/* To one of the others; what is for all (questions about addresses, IPv6) goes nowhere. */
		to = (unsigned)bytes[SPACES_MAC_SIZE - 1] - 1;
		if (bytes[0] == 2 && to < net->spaces.nodes && to != from)
			forward(net, from, to, now, bytes, (size_t)got);
	}
}

static void deliver_due(struct net *net)
{
	uint64_t now = clock_mono_ns();

	while (net->heap_count && net->heap[0]->due <= now) {
		struct frame *frame = pop(net);
		struct link *link = &net->links[frame->from][frame->to];

		link->waiting--;
		if (link->state.cut)
			link->counts.cut++;
		else
			deliver(net, frame->from, frame->to, frame->bytes, frame->len);
		mem_free(frame);
	}
}

/* ---- changes ---- */

/* Calculates what is in force on each link, and tells what is new. */
static void recalculate(struct net *net, const char *by)
{
	for (unsigned from = 0; from < net->spaces.nodes; from++)
		for (unsigned to = 0; to < net->spaces.nodes; to++) {
			struct link *link = &net->links[from][to];
			struct net_state state = {.cut = false};

			if (from == to)
				continue;
			for (unsigned i = 0; i < net->change_count; i++)
				if (net->changes[i].change.to[from] >> to & 1)
					net_state_apply(&state, &net->changes[i].change);
			if (net_state_equal(&state, &link->state))
				continue;
			link->state = state;
			if (!state.rate)
				link->free_at = 0;
			if (net->told)
				net->told(net->ctx, from, to, &state, &link->counts, by);
		}
}

static void drop_change(struct net *net, unsigned at)
{
	memmove(&net->changes[at], &net->changes[at + 1], (net->change_count - at - 1) * sizeof(net->changes[0]));
	net->change_count--;
}

static uint64_t apply(struct net *net, const struct net_change *change, const char *by)
{
	for (unsigned i = 0; change->verb == NET_HEAL && i < net->change_count; i++)
		for (unsigned from = 0; from < NET_NODES_MAX; from++)
			net->changes[i].change.to[from] &= (uint16_t)~change->to[from];
	if (change->verb != NET_HEAL) {
		if (net->change_count == CHANGES_MAX)
			drop_change(net, 0);
		net->changes[net->change_count++] = (struct in_force){++net->next_number, *change};
	}
	recalculate(net, by);
	return net->next_number;
}

uint64_t net_apply(struct net *net, const struct net_change *change, const char *by)
{
	uint64_t number;

	take_lock(net);
	number = apply(net, change, by);
	pthread_mutex_unlock(&net->lock);
	return number;
}

void net_take_back(struct net *net, uint64_t number)
{
	take_lock(net);
	for (unsigned i = 0; i < net->change_count; i++)
		if (net->changes[i].number == number) {
			drop_change(net, i);
			break;
		}
	recalculate(net, "operation");
	pthread_mutex_unlock(&net->lock);
}

void net_heal_all(struct net *net)
{
	take_lock(net);
	net->change_count = 0;
	recalculate(net, "end");
	pthread_mutex_unlock(&net->lock);
}

void net_counts(struct net *net, unsigned from, unsigned to, struct net_counts *out)
{
	take_lock(net);
	*out = net->links[from][to].counts;
	pthread_mutex_unlock(&net->lock);
}

/* ---- by hand ---- */

static void print_links(struct net *net, struct buf *out)
{
	buf_add_str(out, "link    frames      bytes        dropped  doubled  held back  state\n");
	for (unsigned from = 0; from < net->spaces.nodes; from++)
		for (unsigned to = 0; to < net->spaces.nodes; to++) {
			const struct net_counts *c = &net->links[from][to].counts;
			struct buf state = BUF_INIT;

			if (from == to || (!c->frames && net_state_equal(&net->links[from][to].state, &(struct net_state){.cut = false})))
				continue;
			net_state_print(&net->links[from][to].state, &state);
			buf_printf(out, "n%u>n%u   %-10llu  %-11llu  %-7llu  %-7llu  %-9llu  %s\n", from + 1, to + 1,
				(unsigned long long)c->frames, (unsigned long long)c->bytes,
				(unsigned long long)(c->cut + c->lost + c->full), (unsigned long long)c->duplicated,
				(unsigned long long)c->reordered, state.data);
			buf_release(&state);
		}
}

void net_print(struct net *net, struct buf *out)
{
	take_lock(net);
	print_links(net, out);
	pthread_mutex_unlock(&net->lock);
}

static void obey(struct net *net, struct span words, struct buf *answer)
{
	struct net_change change;
	enum net_verb verb;
	struct span wrong;
	struct err err;
	size_t len = 0;

	while (len < words.len && words.ptr[len] != ' ')
		len++;
	if (span_eq_str(words, "show")) {
		buf_add_str(answer, "ok ");
		print_links(net, answer);
	} else if (!net_verb_named(span_of(words.ptr, len), &verb)) {
		buf_add_str(answer, "error cut, delay, loss, duplicate, reorder, rate or heal belongs here");
	} else if (!net_change_parse(&change, verb, span_of(words.ptr + len, words.len - len), net->spaces.nodes, &wrong, &err)) {
		buf_printf(answer, "error '%.*s': %s", SPAN_ARG(wrong), err.text);
	} else {
		apply(net, &change, "hand");
		buf_add_str(answer, "ok ");
	}
}

/* Words from a process of the same user, or of root. */
static void answer_words(struct net *net)
{
	char words[WORDS_MAX];
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} room;
	struct sockaddr_un from;
	struct iovec data = {words, sizeof(words)};
	struct msghdr message = {.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &data, .msg_iovlen = 1,
		.msg_control = room.bytes, .msg_controllen = sizeof(room.bytes)};
	ssize_t got = recvmsg(net->control, &message, MSG_DONTWAIT);
	struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	struct ucred who = {.uid = (uid_t)-1};
	struct buf answer = BUF_INIT;

	if (head && head->cmsg_type == SCM_CREDENTIALS)
		memcpy(&who, CMSG_DATA(head), sizeof(who));
	if (got <= 0 || (who.uid != geteuid() && who.uid != 0))
		return;
	obey(net, span_of(words, (size_t)got), &answer);
	(void)!sendto(net->control, answer.data, answer.len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&from, message.msg_namelen);
	buf_release(&answer);
}

/* An abstract name: it is gone with the process. */
static socklen_t control_name(long pid, struct sockaddr_un *out)
{
	int len;

	*out = (struct sockaddr_un){.sun_family = AF_UNIX};
	len = snprintf(out->sun_path + 1, sizeof(out->sun_path) - 1, "isorec-net-%ld", pid);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

static int open_control(void)
{
	struct sockaddr_un name;
	socklen_t len = control_name((long)getpid(), &name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0 || bind(fd, (struct sockaddr *)&name, len) != 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

bool net_ask(long pid, const char *words, struct buf *answer, struct err *err)
{
	struct sockaddr_un name, own = {.sun_family = AF_UNIX};
	socklen_t len = control_name(pid, &name);
	struct timeval limit = {.tv_sec = ANSWER_S};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), code;
	ssize_t got = -1;

	/* A name of its own, which the kernel chooses: an answer needs one. */
	if (fd >= 0 && bind(fd, (struct sockaddr *)&own, sizeof(sa_family_t)) == 0 &&
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
		sendto(fd, words, strlen(words), MSG_NOSIGNAL, (struct sockaddr *)&name, len) >= 0)
		got = recv(fd, buf_reserve(answer, 65536), 65536, 0);
	code = errno;
	if (fd >= 0)
		close(fd);
	if (got < 0)
		return err_set_errno(err, code, "process %ld has no network that answers", pid);
	answer->len += (size_t)got;
	answer->data[answer->len] = '\0';
	return true;
}

unsigned net_find(long *pids, unsigned max)
{
	FILE *list = fopen("/proc/net/unix", "r");
	unsigned count = 0;
	char line[512];

	while (list && count < max && fgets(line, sizeof(line), list)) {
		const char *at = strstr(line, "@isorec-net-");

		if (at)
			pids[count++] = strtol(at + strlen("@isorec-net-"), NULL, 10);
	}
	if (list)
		fclose(list);
	return count;
}

/* ---- the thread ---- */

static void *switch_main(void *arg)
{
	struct net *net = arg;
	struct pollfd fds[NET_NODES_MAX + 2];
	unsigned nodes = net->spaces.nodes;

	for (;;) {
		struct timespec wait = {.tv_sec = 0}, *limit = NULL;
		bool end;

		for (unsigned i = 0; i < nodes; i++)
			fds[i] = (struct pollfd){.fd = net->spaces.tap[i], .events = POLLIN};
		fds[nodes] = (struct pollfd){.fd = net->wake, .events = POLLIN};
		fds[nodes + 1] = (struct pollfd){.fd = net->control, .events = POLLIN};
		if (net->heap_count) {
			uint64_t now = clock_mono_ns(), due = net->heap[0]->due, ns = due > now ? due - now : 0;

			wait = (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
			limit = &wait;
		}
		if (ppoll(fds, nodes + 2, limit, NULL) < 0 && errno != EINTR)
			break;
		while (atomic_load(&net->asking))
			sched_yield();
		pthread_mutex_lock(&net->lock);
		deliver_due(net);
		for (unsigned i = 0; i < nodes; i++)
			if (fds[i].revents)
				read_node(net, i);
		if (fds[nodes + 1].revents)
			answer_words(net);
		end = net->end;
		pthread_mutex_unlock(&net->lock);
		if (end)
			break;
	}
	return NULL;
}

bool net_open(struct net **out, unsigned nodes, uint64_t seed, struct err *err)
{
	struct net *net = mem_zero(1, sizeof(*net));
	sigset_t all, old;
	int code;

	if (!spaces_open(&net->spaces, nodes, err)) {
		mem_free(net);
		return false;
	}
	for (unsigned from = 0; from < nodes; from++)
		for (unsigned to = 0; to < nodes; to++)
			random_seed(&net->links[from][to].random, seed, (1u << 24) + from * NET_NODES_MAX + to);
	pthread_mutex_init(&net->lock, NULL);
	net->wake = eventfd(0, EFD_CLOEXEC);
	net->control = open_control();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	code = net->wake < 0 ? errno : pthread_create(&net->thread, NULL, switch_main, net);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (code) {
		spaces_close(&net->spaces);
		mem_free(net);
		return err_set_errno(err, code, "cannot start the network's thread");
	}
	*out = net;
	return true;
}

void net_close(struct net *net)
{
	uint64_t one = 1;

	if (!net)
		return;
	take_lock(net);
	net->end = true;
	pthread_mutex_unlock(&net->lock);
	(void)!write(net->wake, &one, sizeof(one));
	pthread_join(net->thread, NULL);
	while (net->heap_count)
		mem_free(pop(net));
	mem_free(net->heap);
	close(net->wake);
	if (net->control >= 0)
		close(net->control);
	spaces_close(&net->spaces);
	pthread_mutex_destroy(&net->lock);
	mem_free(net);
}

void net_tell(struct net *net, net_told *told, void *ctx)
{
	take_lock(net);
	net->told = told;
	net->ctx = ctx;
	pthread_mutex_unlock(&net->lock);
}

void net_print_spaces(struct net *net, struct buf *out)
{
	spaces_print(&net->spaces, out);
}
