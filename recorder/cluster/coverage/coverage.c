/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/coverage/coverage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/text.h"
#include "cluster/coverage/blocks.h"

enum { LOOK_MS = 20, PATH_ROOM = 4096, LIBRARY_PATH_MAX = 4096 };

struct coverage {
	char folder[256];
	char *variables[4];
	pthread_t thread;
	atomic_bool end;
	_Atomic(struct coverage_header *) map;
	size_t map_size;
	struct err why; /* there is no map */
};

/* ---- the map ---- */

static bool write_map(struct coverage *c, const struct blocks *blocks, struct err *err)
{
	struct coverage_header header = {.magic = COVERAGE_MAGIC, .count = blocks->count, .functions = blocks->functions};
	size_t size = sizeof(header) + (size_t)blocks->count * (sizeof(uint64_t) + 1);
	struct coverage_header *map = MAP_FAILED;
	char name[PATH_ROOM], final[PATH_ROOM];
	int fd;

	memcpy(header.build_id, blocks->build_id, sizeof(header.build_id));
	snprintf(name, sizeof(name), "%s/map.new", c->folder);
	snprintf(final, sizeof(final), "%s/map", c->folder);
	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	/* The servers may run as another user. */
	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0 && fchmod(fd, 0666) == 0)
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (map == MAP_FAILED)
		return err_set_errno(err, errno, "cannot make %s", name);
	memcpy(map + 1, blocks->addresses, (size_t)blocks->count * sizeof(uint64_t));
	*map = header;
	c->map_size = size;
	if (rename(name, final) != 0)
		return err_set_errno(err, errno, "cannot make %s", final);
	atomic_store(&c->map, map);
	return true;
}

static void *coverage_main(void *arg)
{
	struct coverage *c = arg;
	char path[PATH_ROOM];
	struct blocks blocks;

	snprintf(path, sizeof(path), "%s/library", c->folder);
	while (!atomic_load(&c->end)) {
		struct buf library = BUF_INIT;
		struct err err;
		bool ok;

		poll(NULL, 0, LOOK_MS);
		if (access(path, R_OK) != 0)
			continue;
		ok = file_read(path, LIBRARY_PATH_MAX, &library, &err);
		buf_add(&library, "", 0); /* ends the name */
		ok = ok && blocks_find(&blocks, library.data, &err);
		if (ok) {
			ok = write_map(c, &blocks, &err);
			blocks_release(&blocks);
		}
		if (!ok)
			c->why = err;
		buf_release(&library);
		break;
	}
	return NULL;
}

/* ---- the agent ---- */

/* The one that ISOREC_COVERAGE_AGENT names, the one of this build, or the installed one. */
static bool find_agent(char *out, size_t size)
{
	static const char *const places[] = {"cluster/coverage/isorec-coverage.so", "../lib/isotrace/isorec-coverage.so"};
	const char *named = getenv("ISOREC_COVERAGE_AGENT");
	char self[PATH_ROOM];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (named) {
		snprintf(out, size, "%s", named);
		return access(out, R_OK) == 0;
	}
	self[len > 0 ? len : 0] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if ((size_t)snprintf(out, size, "%s/%s", self, places[i]) < size && access(out, R_OK) == 0)
			return true;
	return false;
}

static char *variable(const char *name, const char *value)
{
	struct buf out = BUF_INIT;

	buf_printf(&out, "%s=%s", name, value);
	return out.data;
}

static void remove_folder(const struct coverage *c)
{
	static const char *const names[] = {"map", "map.new", "library"};
	char path[PATH_ROOM];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", c->folder, names[i]);
		unlink(path);
	}
	rmdir(c->folder);
}

bool coverage_open(struct coverage **out, const char *library, struct err *err)
{
	const char *top = getenv("TMPDIR");
	char agent[2 * PATH_ROOM];
	struct coverage *c;
	int code;

	if (!find_agent(agent, sizeof(agent)))
		return err_set(err, ERR_UNSUPPORTED, "isorec-coverage.so is not there: it is built on x86-64, with libcapstone-dev");
	c = mem_zero(1, sizeof(*c));
	snprintf(c->folder, sizeof(c->folder), "%s/isorec-coverage-XXXXXX", top && strlen(top) < 200 ? top : "/tmp");
	if (!mkdtemp(c->folder) || chmod(c->folder, 0777) != 0) {
		err_set_errno(err, errno, "cannot make the folder %s", c->folder);
		mem_free(c);
		return false;
	}
	c->variables[0] = variable("LD_PRELOAD", agent);
	c->variables[1] = variable(COVERAGE_FOLDER, c->folder);
	c->variables[2] = variable(COVERAGE_LIBRARY, library);
	err_set(&c->why, ERR_UNSUPPORTED, "no server has loaded %s", library);
	code = pthread_create(&c->thread, NULL, coverage_main, c);
	if (code) {
		remove_folder(c);
		mem_free(c);
		return err_set_errno(err, code, "cannot start a thread");
	}
	*out = c;
	return true;
}

void coverage_close(struct coverage *c)
{
	if (!c)
		return;
	atomic_store(&c->end, true);
	pthread_join(c->thread, NULL);
	if (atomic_load(&c->map))
		munmap(atomic_load(&c->map), c->map_size);
	remove_folder(c);
	for (size_t i = 0; i < ARRAY_LEN(c->variables); i++)
		mem_free(c->variables[i]);
	mem_free(c);
}

const char *const *coverage_environment(const struct coverage *c)
{
	return (const char *const *)c->variables;
}

const struct coverage_header *coverage_map(struct coverage *c, const char **why)
{
	*why = c->why.text;
	return atomic_load(&c->map);
}

/* ---- as text ---- */

void coverage_print(const struct coverage_header *map, struct buf *out)
{
	const unsigned char *reached = coverage_reached(map);

	buf_printf(out, "%s %u %u ", map->build_id, map->functions, map->count);
	for (uint32_t i = 0; i < map->count; i += 4) {
		unsigned digit = 0;

		for (uint32_t b = 0; b < 4 && i + b < map->count; b++)
			digit |= (unsigned)(reached[i + b] != 0) << b;
		buf_add_char(out, "0123456789abcdef"[digit]);
	}
}

static struct span word_of(struct span *rest)
{
	const char *at = memchr(rest->ptr, ' ', rest->len);
	struct span out = span_of(rest->ptr, at ? (size_t)(at - rest->ptr) : rest->len);

	*rest = at ? span_of(at + 1, rest->len - out.len - 1) : span_of(rest->ptr + rest->len, 0);
	return out;
}

bool coverage_parse(struct coverage_read *out, struct span text)
{
	struct span id = word_of(&text);
	uint64_t functions, count;

	*out = (struct coverage_read){.bits = NULL};
	if (!id.len || id.len >= sizeof(out->build_id) || !text_number(word_of(&text), &functions) || !text_number(word_of(&text), &count) ||
		count > COVERAGE_BLOCKS_MAX || functions > count || text.len != (count + 3) / 4)
		return false;
	snprintf(out->build_id, sizeof(out->build_id), "%.*s", SPAN_ARG(id));
	out->count = (uint32_t)count;
	out->functions = (uint32_t)functions;
	out->bits = mem_zero(count + 4, 1);
	for (size_t i = 0; i < text.len; i++) {
		const char *digits = "0123456789abcdef", *at = text.ptr[i] ? strchr(digits, text.ptr[i]) : NULL;

		if (!at) {
			coverage_read_release(out);
			return false;
		}
		for (size_t b = 0; b < 4 && 4 * i + b < count; b++) {
			out->bits[4 * i + b] = (unsigned char)((at - digits) >> b & 1);
			out->reached += out->bits[4 * i + b];
		}
	}
	return true;
}

void coverage_read_release(struct coverage_read *read)
{
	mem_free(read->bits);
	*read = (struct coverage_read){.bits = NULL};
}
