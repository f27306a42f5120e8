/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the hunt share: results of cases, groups, figures. */
#ifndef HUNT_HUNT_INTERNAL_H
#define HUNT_HUNT_INTERNAL_H

#include "hunt/hunt.h"

/* Tags of what happened, after those of the generator. */
enum hunt_tag { HAPPENED_BLOCKED, HAPPENED_DEADLOCK, HAPPENED_SNAPSHOT, HAPPENED_TIMEOUT, HAPPENED_DUPLICATE, HAPPENED_FOREIGN,
	HAPPENED_COUNT };

enum { HUNT_LOG_MAX = 1 << 30 };

/* A case on one server. */
struct hunt_result {
	uint64_t number;
	unsigned server;
	struct case_tags tags;
	struct hunt_figures figures;
	uint64_t generate_ns, run_ns, judge_ns;
	char failure[200]; /* not empty: it could not be run */
	char reason[120];
	struct {
		char signature[HUNT_SIGNATURE_MAX];
		enum hunt_kind kind;
		uint32_t count;
	} findings[HUNT_FINDINGS_MAX];
	size_t finding_count;
};

/* One line, with its end. */
void result_print(const struct hunt_result *result, struct buf *out);
/* False: it is not whole. */
bool result_parse(struct span line, struct hunt_result *out) MUST_CHECK;

struct hunt_group {
	char signature[HUNT_SIGNATURE_MAX];
	enum hunt_kind kind;
	uint64_t count, cases; /* findings; cases with one */
	uint64_t servers;      /* bits */
	uint64_t first_case;
	double first_seconds; /* into the hunt */
	uint64_t examples[HUNT_EXAMPLES];
	unsigned example_count;
};

struct hunt_reason {
	char text[120];
	uint64_t count;
};

struct hunt_state {
	const struct hunt_options *options;
	struct hunt_group *groups;
	size_t group_count, group_capacity;
	struct hunt_reason *reasons;
	size_t reason_count, reason_capacity;
	struct hunt_figures total;
	uint64_t cases, failed, generate_ns, run_ns, judge_ns;
	uint64_t pairs[CASE_TAGS_MAX][CASE_TAGS_MAX / 64]; /* of tags that were in one case */
	double seconds; /* before this run, and of it */
	uint8_t *done;  /* bits: cases of the log */
	uint64_t done_max, next;
	char last_failure[200];
};

/* New groups come last. */
void state_add(struct hunt_state *state, const struct hunt_result *result);
struct hunt_group *state_group(struct hunt_state *state, const char *signature);
bool state_is_done(const struct hunt_state *state, uint64_t number);
void state_release(struct hunt_state *state);
/* Pairs seen, and those that the model allows. */
void state_pairs(const struct hunt_state *state, uint64_t *seen, uint64_t *possible);
uint64_t state_count(const struct hunt_state *state, enum hunt_kind kind);

/* Puts the hunts of options->merge into options->folder, whose log then begins with `head` as theirs do. */
bool merge_hunts(const struct hunt_options *options, struct span head, struct err *err) MUST_CHECK;

/* case-000012 */
void case_folder(struct buf *out, const struct hunt_options *options, uint64_t number);
bool page_write(const struct hunt_state *state, struct err *err) MUST_CHECK;
/* The figures in words, several lines. */
void summary_print(const struct hunt_state *state, struct buf *out);

/* The worker's whole life: reads numbers of cases from one descriptor, writes lines to the other. */
void worker_run(const struct hunt_options *options, struct hunt_state *state, unsigned number, int in, int out);

#endif
