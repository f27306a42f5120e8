/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/spill.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "unit.h"

enum { MIB = 1 << 20 };

/* A number that depends on its place, so that a page in the wrong place shows. */
static uint64_t number_at(uint64_t seed, size_t i)
{
	return seed * 0x9e3779b97f4a7c15u + i;
}

static void fill(uint64_t *block, size_t count, uint64_t seed)
{
	for (size_t i = 0; i < count; i++)
		block[i] = number_at(seed, i);
}

static void require_filled(const uint64_t *block, size_t count, uint64_t seed)
{
	for (size_t i = 0; i < count; i++)
		UNIT_REQUIRE(block[i] == number_at(seed, i));
}

static uint64_t status_kb(const char *name)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[200];
	unsigned long long kb = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, strlen(name)) == 0)
			sscanf(line + strlen(name), ": %llu", &kb);
	}
	if (file)
		fclose(file);
	return kb;
}

START_TEST(blocks_keep_what_was_written)
{
	enum { BLOCKS = 24, SIZE = 3 * MIB, COUNT = SIZE / 8 };
	uint64_t *blocks[BLOCKS];

	/* Far less than is written: nearly all has to leave and to come back. */
	ck_assert(spill_begin(16 * MIB, (uint64_t)1 << 30));
	for (size_t b = 0; b < BLOCKS; b++) {
		blocks[b] = spill_alloc(SIZE);
		ck_assert_ptr_nonnull(blocks[b]);
		ck_assert(spill_owns(blocks[b]) && spill_owns((char *)blocks[b] + SIZE - 1));
		UNIT_REQUIRE(blocks[b][0] == 0 && blocks[b][COUNT - 1] == 0);
		fill(blocks[b], COUNT, b);
	}
	for (unsigned round = 0; round < 5; round++) {
		for (size_t b = 0; b < BLOCKS; b++)
			require_filled(blocks[b], COUNT, b);
	}
	for (size_t b = 0; b < BLOCKS; b++)
		spill_free(blocks[b]);
}
END_TEST

START_TEST(a_process_keeps_to_its_memory)
{
	enum { SIZE = 256 * MIB, COUNT = SIZE / 8, ROUNDS = 10 };
	uint64_t *block, most = 0;

	ck_assert(spill_begin(64 * MIB, (uint64_t)1 << 30));
	block = spill_alloc(SIZE);
	ck_assert_ptr_nonnull(block);
	fill(block, COUNT, 1);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (size_t part = 0; part < 16; part++) {
			uint64_t kb;

			require_filled(block, COUNT / 16, 1);
			for (size_t i = part * (COUNT / 16); i < (part + 1) * (COUNT / 16); i++)
				UNIT_REQUIRE(block[i] == number_at(1, i));
			kb = status_kb("RssFile") + status_kb("RssShmem");
			most = kb > most ? kb : most;
		}
	}
	/* Between two looks it may take more, so the bound is not exact; without any look all 256 MiB would be there. */
	ck_assert_msg(most < 200 * 1024, "%llu KiB of the file in memory", (unsigned long long)most);
}
END_TEST

START_TEST(room_that_is_freed_is_given_again_and_empty)
{
	char *first, *second;

	ck_assert(spill_begin(16 * MIB, (uint64_t)1 << 30));
	first = spill_alloc(5 * MIB);
	memset(first, 0xff, 5 * MIB);
	spill_free(first);
	second = spill_alloc(6 * MIB);
	ck_assert_ptr_eq(first, second);
	for (size_t i = 0; i < 6 * MIB; i++)
		UNIT_REQUIRE(second[i] == 0);
	memset(second, 0xff, 6 * MIB);
	spill_discard(second + MIB, MIB);
	UNIT_REQUIRE(second[MIB - 1] == (char)0xff && second[MIB] == 0 && second[2 * MIB] == (char)0xff);
	ck_assert_ptr_ne(spill_alloc(6 * MIB), second);
}
END_TEST

START_TEST(arrays_grow_from_the_heap_into_the_file)
{
	uint64_t *array = NULL;
	size_t capacity = 0, count = 0;
	bool was_in_heap = false;

	mem_allow_spill();
	mem_limit(64 * MIB);
	for (; count < 12 * MIB; count++) {
		MEM_RESERVE(array, count + 1, capacity);
		was_in_heap |= !spill_owns(array);
		array[count] = number_at(7, count);
	}
	ck_assert(was_in_heap);
	ck_assert(spill_owns(array));
	require_filled(array, count, 7);
	array = mem_realloc(array, MIB, sizeof(*array));
	require_filled(array, MIB, 7);
	mem_free(array);
}
END_TEST

START_TEST(arenas_and_zeroed_blocks_go_there_too)
{
	struct arena arena = ARENA_INIT;
	char *zero;
	bool in_file = false;

	mem_allow_spill();
	mem_limit(64 * MIB);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t *small = arena_alloc(&arena, 1000);

		fill(small, 125, i);
		in_file |= spill_owns(small);
	}
	ck_assert(in_file);
	zero = mem_zero(40, MIB);
	ck_assert(spill_owns(zero));
	for (size_t i = 0; i < 40 * MIB; i += 512)
		UNIT_REQUIRE(zero[i] == 0);
	mem_free(zero);
	arena_release(&arena);
}
END_TEST

START_TEST(without_permission_nothing_goes_to_a_file)
{
	char *block;

	mem_limit(256 * MIB);
	block = mem_alloc(100 * MIB);
	ck_assert(!spill_owns(block));
	mem_free(block);
	mem_free(NULL);
}
END_TEST

/* The exit status of a process that writes `size` bytes, with the folder for its file. */
static int status_of_writing(const char *folder, uint64_t disk_max, size_t size)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		char *block;

		setenv("TMPDIR", folder, 1);
		if (!spill_begin(16 * MIB, disk_max))
			_exit(99);
		block = spill_alloc(size);
		for (unsigned round = 0; round < 1000; round++)
			memset(block, (int)round, size);
		_exit(0);
	}
	ck_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Exits with 0: a freed block's room, where the file system cannot empty it, is not given again as an empty one. */
static void free_and_take(void)
{
	unsigned char *block;

	if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("none", "/var/tmp", "ramfs", 0, NULL) != 0)
		_exit(77);
	setenv("TMPDIR", "/var/tmp", 1);
	if (!spill_begin(16 * MIB, (uint64_t)1 << 30))
		_exit(1);
	block = spill_alloc(MIB);
	memset(block, 0xff, MIB);
	spill_free(block);
	block = spill_alloc(MIB);
	for (size_t i = 0; i < MIB; i++)
		if (block[i])
			_exit(2);
	_exit(0);
}

START_TEST(blocks_are_empty_where_no_holes_can_be_made)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		free_and_take();
	ck_assert(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	/* 77: no file system can be mounted here. */
	ck_assert_msg(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77, "%d", WEXITSTATUS(status));
}
END_TEST

START_TEST(a_file_that_grows_too_large_ends_the_process)
{
	ck_assert_int_eq(status_of_writing("/var/tmp", 8 * MIB, 64 * MIB), EXIT_STATUS_INPUT);
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_told)
{
	ck_assert_int_eq(status_of_writing("/nowhere/at/all", (uint64_t)1 << 30, MIB), 99);
}
END_TEST

UNIT_MAIN("spill", blocks_keep_what_was_written, a_process_keeps_to_its_memory,
	room_that_is_freed_is_given_again_and_empty, arrays_grow_from_the_heap_into_the_file,
	arenas_and_zeroed_blocks_go_there_too, without_permission_nothing_goes_to_a_file,
	blocks_are_empty_where_no_holes_can_be_made, a_file_that_grows_too_large_ends_the_process,
	a_folder_that_is_not_there_is_told)
