/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "writer_checks.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct trace_writer *open_writer(
	const char *path, const struct trace_writer_options *options)
{
	struct trace_writer *writer;
	struct err err;

	writer = trace_writer_open(path, options, &err);
	ck_assert_msg(writer != NULL, "%s", err.text);
	return writer;
}

void close_writer(struct trace_writer *writer)
{
	struct err err;

	ck_assert_msg(trace_writer_close(writer, &err), "%s", err.text);
}

static void see_gap(struct seen *seen, const struct trace_item *item)
{
	struct mp mp = item->mp;
	struct record_gap gap;

	HOLDS(record_gap_read(&mp, item->left, &gap));
	seen->gaps++;
	if (span_eq_str(gap.reason, "waited")) {
		seen->waited++;
		EQUAL(gap.records, 0);
		HOLDS(gap.at >= gap.begin && gap.begin);
	} else if (span_eq_str(gap.reason, "rotated")) {
		seen->rotated = gap.records;
	} else {
		seen->lost += gap.records;
		seen->stopped += span_eq_str(gap.reason, "stopped");
		HOLDS(span_eq_str(gap.reason, "stopped") || span_eq_str(gap.reason, "dropped") ||
			(span_eq_str(gap.reason, "late") && !gap.records));
		if (gap.records && gap.first_seq)
			HOLDS(gap.first_seq <= gap.last_seq);
		snprintf(seen->gap_detail, sizeof(seen->gap_detail), "%.*s", SPAN_ARG(gap.detail));
	}
}


void see(const char *path, bool ordered, struct seen *seen)
{
	struct trace_reader_options options = {.ordered = ordered};
	struct trace_reader *reader;
	struct trace_item item;
	enum trace_next next;
	struct err err;

	memset(seen, 0, sizeof(*seen));
	seen->in_order = true;
	reader = trace_reader_open(path, &options, &err);
	ck_assert_msg(reader != NULL, "%s", err.text);
	while ((next = trace_next_item(reader, &item, &err)) == TRACE_NEXT_OK) {
		uint64_t number, seq;
		uint32_t thread;

		if (item.kind == RECORD_GAP) {
			see_gap(seen, &item);
		} else if (item.kind == RECORD_FOOTER) {
			struct mp mp = item.mp;
			struct record_footer footer;

			HOLDS(record_footer_read(&mp, item.left, &footer));
			seen->footers++;
			snprintf(seen->last_footer, sizeof(seen->last_footer), "%.*s",
				SPAN_ARG(footer.reason));
		} else if (numbered_read(&item, &thread, &number, &seq)) {
			HOLDS(thread < THREADS);
			HOLDS(number >= seen->next[thread]);
			seen->next[thread] = number + 1;
			seen->notes++;
			if (seq <= seen->last_seq)
				seen->in_order = false;
			seen->last_seq = seq;
		} else {
			seen->others++;
		}
	}
	ck_assert_msg(next == TRACE_NEXT_END, "%s", err.text);
	trace_reader_totals(reader, &seen->totals);
	trace_reader_close(reader);
}

void *work(void *arg)
{
	struct worker *worker = arg;
	struct trace_producer *producer = trace_producer_open(worker->writer);
	uint64_t last = 0;

	for (uint64_t i = 0; i < worker->count; i++) {
		uint64_t seq = numbered_emit(producer, worker->thread, i);

		if (seq <= last)
			abort();
		last = seq;
		if (i % 997 == 0)
			trace_producer_flush(producer);
	}
	trace_producer_close(producer);
	return NULL;
}

void run_workers(struct trace_writer *writer, uint64_t count, void *(*main)(void *))
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){writer, i, count};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, main, &workers[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}
