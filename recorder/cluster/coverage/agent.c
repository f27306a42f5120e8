/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into a server: tells which blocks of a library were reached, at no cost once each was.
 *
 * When the library is loaded, a breakpoint (0xcc) is put on each block of it that was not reached yet; the handler puts the
 * byte back, notes the block, and has the instruction executed.  isorec finds the blocks (blocks.c) and shares the map (map.h).
 *
 * Invariants:
 *  1. Only first bytes of instructions are changed, and each back to what it was.
 *  2. Two threads on one breakpoint both find it in the map: the second puts back what is back already.
 *  3. No thread blocks SIGTRAP: a trap that is blocked would end the server.
 *  4. Programs that the server starts do not get the agent.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "cluster/coverage/map.h"

enum { WAIT_MS = 20000, BREAKPOINT = 0xcc };

static struct {
	char folder[512], library[128];
	struct coverage_header *header;
	const uint64_t *addresses;
	uint8_t *reached, *original;
	uintptr_t base;
	struct sigaction before;
	int armed;
} agent;

/* ---- the handler ---- */

static long find_block(uintptr_t address)
{
	uint32_t low = 0, high = agent.header->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (agent.addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < agent.header->count && agent.addresses[low] == address ? (long)low : -1;
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	greg_t *next = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	uintptr_t at = (uintptr_t)*next - 1;
	long block = find_block(at - agent.base);

	if (block >= 0) {
		*(volatile uint8_t *)at = agent.original[block];
		if (!__atomic_exchange_n(&agent.reached[block], 1, __ATOMIC_RELAXED))
			__atomic_fetch_add(&agent.header->hits, 1, __ATOMIC_RELAXED);
		*next = (greg_t)at;
		return;
	}
	/* Another breakpoint than ours. */
	if (agent.before.sa_flags & SA_SIGINFO && agent.before.sa_sigaction) {
		agent.before.sa_sigaction(number, info, context);
	} else if (agent.before.sa_handler == SIG_DFL) {
		signal(SIGTRAP, SIG_DFL);
		raise(SIGTRAP);
	} else if (agent.before.sa_handler != SIG_IGN) {
		agent.before.sa_handler(number);
	}
}

/* ---- arming ---- */

static void path_of(char *out, size_t size, const char *name)
{
	snprintf(out, size, "%s/%s", agent.folder, name);
}

static void tell_library(const char *path)
{
	char name[600], final[600];
	FILE *file;

	snprintf(name, sizeof(name), "%s/library.%d", agent.folder, (int)getpid());
	path_of(final, sizeof(final), "library");
	file = fopen(name, "w");
	if (!file)
		return;
	fputs(path, file);
	fclose(file);
	rename(name, final);
}

static int map_blocks(void)
{
	char path[600];
	struct stat st;
	int fd = -1;

	path_of(path, sizeof(path), "map");
	for (int ms = 0; ms < WAIT_MS && fd < 0; ms += 10) {
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && st.st_size > (off_t)sizeof(struct coverage_header))
		agent.header = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (!agent.header || agent.header == MAP_FAILED || agent.header->magic != COVERAGE_MAGIC || !agent.header->count ||
		(uint64_t)st.st_size != sizeof(struct coverage_header) + (uint64_t)agent.header->count * 9)
		return 0;
	agent.addresses = (const uint64_t *)(const void *)(agent.header + 1);
	agent.reached = (uint8_t *)(agent.header + 1) + (size_t)agent.header->count * 8;
	agent.original = malloc(agent.header->count);
	return agent.original != NULL;
}

/* The library's own note says which build it is: a map of another build would break it. */
static int is_build(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + segment->p_vaddr), *end = at + segment->p_memsz;

		while (segment->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)at;
			const unsigned char *id = (const unsigned char *)at + sizeof(*note) + ((note->n_namesz + 3) & ~3u);
			char text[COVERAGE_ID_SIZE] = "";

			if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz * 2 < sizeof(text)) {
				for (unsigned b = 0; b < note->n_descsz; b++)
					snprintf(text + 2 * b, 3, "%02x", id[b]);
				return strcmp(text, agent.header->build_id) == 0;
			}
			at = (const char *)id + ((note->n_descsz + 3) & ~3u);
		}
	}
	return 0;
}

static void arm(const struct dl_phdr_info *info)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};

	agent.base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = (info->dlpi_addr + segment->p_vaddr) & ~(uintptr_t)4095;
		uintptr_t end = (info->dlpi_addr + segment->p_vaddr + segment->p_memsz + 4095) & ~(uintptr_t)4095;

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
			mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
			return;
	}
	for (uint32_t i = 0; i < agent.header->count; i++)
		agent.original[i] = *(uint8_t *)(agent.base + agent.addresses[i]);
	if (sigaction(SIGTRAP, &action, &agent.before) != 0)
		return;
	for (uint32_t i = 0; i < agent.header->count; i++)
		if (!agent.reached[i])
			*(volatile uint8_t *)(agent.base + agent.addresses[i]) = BREAKPOINT;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	(void)ctx;
	if (agent.armed || strcmp(slash ? slash + 1 : info->dlpi_name, agent.library) != 0)
		return 0;
	agent.armed = 1;
	tell_library(info->dlpi_name);
	if (map_blocks() && is_build(info))
		arm(info);
	return 1;
}

__attribute__((constructor)) static void begin(void)
{
	const char *folder = getenv(COVERAGE_FOLDER), *library = getenv(COVERAGE_LIBRARY);

	if (folder && library) {
		snprintf(agent.folder, sizeof(agent.folder), "%s", folder);
		snprintf(agent.library, sizeof(agent.library), "%s", library);
	}
	unsetenv("LD_PRELOAD");
	unsetenv(COVERAGE_FOLDER);
	unsetenv(COVERAGE_LIBRARY);
}

/* ---- what the server calls ---- */

void *dlopen(const char *name, int flags)
{
	static void *(*real)(const char *, int);
	void *handle;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "dlopen");
	handle = real(name, flags);
	if (handle && agent.folder[0] && !agent.armed)
		dl_iterate_phdr(look_at_object, NULL);
	return handle;
}

static const sigset_t *without_trap(int how, const sigset_t *set, sigset_t *copy)
{
	if (!set || how == SIG_UNBLOCK)
		return set;
	*copy = *set;
	sigdelset(copy, SIGTRAP);
	return copy;
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	static int (*real)(int, const sigset_t *, sigset_t *);
	sigset_t copy;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_sigmask");
	return real(how, without_trap(how, set, &copy), old);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	static int (*real)(int, const sigset_t *, sigset_t *);
	sigset_t copy;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "sigprocmask");
	return real(how, without_trap(how, set, &copy), old);
}
