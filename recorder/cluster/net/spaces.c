/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/net/spaces.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const unsigned char mac_begin[SPACES_MAC_SIZE - 1] = {2, 0, 0, 0, 0x4d};

/* What the child tells: the step that failed, and why. */
struct outcome {
	int errnum;
	bool own_user;
	char step[64];
};

/* ---- in the child ---- */

static bool step_failed(struct outcome *outcome, const char *step)
{
	outcome->errnum = errno;
	snprintf(outcome->step, sizeof(outcome->step), "%s", step);
	return false;
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool enter_own_user(uid_t uid, gid_t gid, struct outcome *outcome)
{
	char map[64];

	if (unshare(CLONE_NEWUSER) != 0)
		return step_failed(outcome, "a user namespace");
	if (!write_file("/proc/self/setgroups", "deny"))
		return step_failed(outcome, "/proc/self/setgroups");
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (!write_file("/proc/self/uid_map", map))
		return step_failed(outcome, "/proc/self/uid_map");
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	if (!write_file("/proc/self/gid_map", map))
		return step_failed(outcome, "/proc/self/gid_map");
	return true;
}

static void set_address(struct sockaddr *out, const char *text)
{
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)out;

	*in = (struct sockaddr_in){.sin_family = AF_INET};
	inet_pton(AF_INET, text, &in->sin_addr);
}

static void set_mac(struct sockaddr *out, unsigned node)
{
	out->sa_family = ARPHRD_ETHER;
	memcpy(out->sa_data, mac_begin, sizeof(mac_begin));
	out->sa_data[sizeof(mac_begin)] = (char)(node + 1);
}

static bool set_flags(int fd, const char *name)
{
	struct ifreq request = {.ifr_flags = 0};

	snprintf(request.ifr_name, IFNAMSIZ, "%s", name);
	if (ioctl(fd, SIOCGIFFLAGS, &request) != 0)
		return false;
	request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
	return ioctl(fd, SIOCSIFFLAGS, &request) == 0;
}

/* The others' addresses are told once and for all: a lost question about them is no loss of theirs. */
static bool tell_neighbours(int fd, unsigned node, unsigned nodes)
{
	char text[32];

	for (unsigned other = 0; other < nodes; other++) {
		struct arpreq request = {.arp_flags = ATF_COM | ATF_PERM};

		if (other == node)
			continue;
		snprintf(text, sizeof(text), "10.77.0.%u", other + 1);
		set_address(&request.arp_pa, text);
		set_mac(&request.arp_ha, other);
		snprintf(request.arp_dev, sizeof(request.arp_dev), "eth0");
		if (ioctl(fd, SIOCSARP, &request) != 0)
			return false;
	}
	return true;
}

static bool configure(int fd, unsigned node, unsigned nodes, struct outcome *outcome)
{
	struct ifreq request = {.ifr_flags = 0};
	char text[32];

	snprintf(request.ifr_name, IFNAMSIZ, "eth0");
	set_mac(&request.ifr_hwaddr, node);
	if (ioctl(fd, SIOCSIFHWADDR, &request) != 0)
		return step_failed(outcome, "the interface's hardware address");
	snprintf(text, sizeof(text), "10.77.0.%u", node + 1);
	set_address(&request.ifr_addr, text);
	if (ioctl(fd, SIOCSIFADDR, &request) != 0)
		return step_failed(outcome, "the interface's address");
	set_address(&request.ifr_netmask, "255.255.255.0");
	if (ioctl(fd, SIOCSIFNETMASK, &request) != 0)
		return step_failed(outcome, "the interface's net mask");
	if (!set_flags(fd, "eth0") || !set_flags(fd, "lo"))
		return step_failed(outcome, "the interfaces");
	return tell_neighbours(fd, node, nodes) || step_failed(outcome, "the neighbours' addresses");
}

static bool make_node(unsigned node, unsigned nodes, int *space, int *tap, struct outcome *outcome)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	bool ok;
	int fd;

	if (unshare(CLONE_NEWNET) != 0)
		return step_failed(outcome, "a network namespace");
	*space = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	*tap = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (*space < 0)
		return step_failed(outcome, "/proc/self/ns/net");
	if (*tap < 0)
		return step_failed(outcome, "/dev/net/tun");
	snprintf(request.ifr_name, IFNAMSIZ, "eth0");
	if (ioctl(*tap, TUNSETIFF, &request) != 0)
		return step_failed(outcome, "a TAP device");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return step_failed(outcome, "a socket");
	ok = configure(fd, node, nodes, outcome);
	close(fd);
	return ok;
}

/* fds: the namespaces, the TAPs, and the user namespace at the end. */
static bool make_all(unsigned nodes, int *fds, int *count, struct outcome *outcome)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWNET) != 0) {
		outcome->own_user = true;
		if (!enter_own_user(uid, gid, outcome))
			return false;
	}
	for (unsigned i = 0; i < nodes; i++)
		if (!make_node(i, nodes, &fds[i], &fds[nodes + i], outcome))
			return false;
	*count = (int)(2 * nodes);
	if (outcome->own_user) {
		fds[2 * nodes] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
		(*count)++;
		if (fds[2 * nodes] < 0)
			return step_failed(outcome, "/proc/self/ns/user");
	}
	return true;
}

/* ---- descriptors from the child ---- */

enum { FDS_MAX = 2 * NET_NODES_MAX + 1 };

union fd_room {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

static void send_all(int to, struct outcome *outcome, const int *fds, int count)
{
	struct iovec data = {outcome, sizeof(*outcome)};
	union fd_room room = {.bytes = ""};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

	if (count) {
		struct cmsghdr *head;

		message.msg_control = room.bytes;
		message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
		memcpy(CMSG_DATA(head), fds, (size_t)count * sizeof(int));
	}
	(void)!sendmsg(to, &message, MSG_NOSIGNAL);
}

static int receive_all(int from, struct outcome *outcome, int *fds)
{
	struct iovec data = {outcome, sizeof(*outcome)};
	union fd_room room;
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof(room.bytes)};
	struct cmsghdr *head;
	ssize_t got;
	int count;

	do
		got = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof(*outcome))
		return -1;
	head = CMSG_FIRSTHDR(&message);
	if (!head)
		return 0;
	count = (int)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(fds, CMSG_DATA(head), (size_t)count * sizeof(int));
	return count;
}

/* ---- */

static bool explain(const struct outcome *outcome, struct err *err)
{
	if (outcome->own_user && strcmp(outcome->step, "/dev/net/tun") != 0)
		return err_set_errno(err, outcome->errnum,
			"no network of our own can be made: %s is refused (see user.max_user_namespaces and "
			"kernel.unprivileged_userns_clone, or start as root)", outcome->step);
	return err_set_errno(err, outcome->errnum, "no network of our own can be made: %s is refused", outcome->step);
}

bool spaces_open(struct spaces *out, unsigned nodes, struct err *err)
{
	struct outcome outcome = {.errnum = 0};
	int pair[2], fds[FDS_MAX], count = 0;
	pid_t child;

	*out = (struct spaces){.nodes = nodes, .user = -1};
	for (unsigned i = 0; i < NET_NODES_MAX; i++)
		out->space[i] = out->tap[i] = -1;
	/*
	 * A process without core dumps owns no file in /proc: neither could the child write its maps, nor the servers open our
	 * descriptors.  Who has a network of our own drives private servers, which have no password.
	 */
	(void)prctl(PR_SET_DUMPABLE, 1);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return err_set_errno(err, errno, "no pair of sockets");
	child = fork();
	if (child == 0) {
		bool ok = make_all(nodes, fds, &count, &outcome);

		send_all(pair[1], &outcome, fds, ok ? count : 0);
		_exit(0);
	}
	close(pair[1]);
	count = child > 0 ? receive_all(pair[0], &outcome, fds) : -1;
	close(pair[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (count < 0)
		return err_set(err, ERR_IO, "no network of our own can be made: the process for it ended early");
	if (count == 0)
		return explain(&outcome, err);
	memcpy(out->space, fds, nodes * sizeof(int));
	memcpy(out->tap, fds + nodes, nodes * sizeof(int));
	out->user = (unsigned)count > 2 * nodes ? fds[2 * nodes] : -1;
	return true;
}

void spaces_close(struct spaces *spaces)
{
	for (unsigned i = 0; i < spaces->nodes; i++) {
		close(spaces->space[i]);
		close(spaces->tap[i]);
	}
	if (spaces->user >= 0)
		close(spaces->user);
	*spaces = (struct spaces){.nodes = 0, .user = -1};
}

void spaces_print(const struct spaces *spaces, struct buf *out)
{
	long pid = (long)getpid();

	if (spaces->user >= 0)
		buf_printf(out, "/proc/%ld/fd/%d", pid, spaces->user);
	for (unsigned i = 0; i < spaces->nodes; i++)
		buf_printf(out, ",10.77.0.%u=/proc/%ld/fd/%d", i + 1, pid, spaces->space[i]);
}
