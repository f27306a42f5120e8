/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/explore/judge_run.h"

#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "cluster/explore/signals.h"
#include "sync/sync.h"

enum { FLUSH_AT = 32 * 1024 };

struct sender {
	int to;
	struct buf out;
};

static void flush(struct sender *s)
{
	for (size_t at = 0; at < s->out.len;) {
		ssize_t n = write(s->to, s->out.data + at, s->out.len - at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	buf_clear(&s->out);
}

/* Tabs and ends of lines are what the form is made of. */
static void add_text(struct sender *s, struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		buf_add_char(&s->out, text.ptr[i] == '\n' || text.ptr[i] == '\t' ? ' ' : text.ptr[i]);
}

static void end_line(struct sender *s)
{
	buf_add_char(&s->out, '\n');
	if (s->out.len > FLUSH_AT)
		flush(s);
}

static void send_line(struct sender *s, const char *what, struct span text)
{
	buf_printf(&s->out, "%s\t", what);
	add_text(s, text);
	end_line(s);
}

static void on_signal_word(void *ctx, struct span signal)
{
	send_line(ctx, "signal", signal);
}

static void on_log(void *ctx, const char *node, const char *path)
{
	(void)node;
	signals_of_log(path, on_signal_word, ctx);
}

/* The operations of the phase without their nodes and results, each once: "kill; recover". */
static void add_operations(struct span phase, struct buf *out)
{
	size_t begin = out->len;

	while (phase.len) {
		const char *end = memmem(phase.ptr, phase.len, "; ", 2);
		struct span piece = span_of(phase.ptr, end ? (size_t)(end - phase.ptr) : phase.len);
		size_t word = 0;

		while (word < piece.len && piece.ptr[word] != ' ')
			word++;
		if (word && !memmem(out->data ? out->data + begin : "", out->len - begin, piece.ptr, word)) {
			buf_add_str(out, out->len > begin ? "+" : "");
			buf_add(out, piece.ptr, word);
		}
		phase = end ? span_of(end + 2, phase.len - piece.len - 2) : SPAN_NONE;
	}
}

static void send_finding(struct sender *s, const struct finding *f)
{
	static const char *const words[] = {[SEVERITY_VIOLATION] = "violation", [SEVERITY_APPLICATION] = "application",
		[SEVERITY_DOCUMENTED] = "documented", [SEVERITY_SUSPICION] = "suspicion", [SEVERITY_COMPAT] = "compat"};
	struct span phase = f->place ? f->place->phase : SPAN_NONE;
	struct buf key = BUF_INIT;

	buf_printf(&key, "%s ", finding_class_name(f->class));
	add_operations(phase, &key);
	buf_printf(&s->out, "finding\t%s\t%s\t", words[f->severity], finding_class_name(f->class));
	add_text(s, buf_span(&key));
	buf_add_char(&s->out, '\t');
	add_text(s, f->explanation);
	if (phase.len) {
		buf_add_str(&s->out, " Phase: ");
		add_text(s, phase);
	}
	end_line(s);
	buf_release(&key);
}

static void on_state(void *ctx, const char *state)
{
	send_line(ctx, "state", span_str(state));
}

static void on_block(void *ctx, uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), "block %llx", (unsigned long long)address);
	send_line(ctx, "signal", span_str(text));
}

static bool judge(struct sender *s, const struct judge_run *run, struct err *err)
{
	struct execution_load_options load = {.results_apart = true, .may_stop = true};
	struct execution execution = {0};
	struct verdict verdict;
	struct life life;

	if (!life_load(&life, run->drive.output, false, err))
		return false;
	if (!execution_load(&execution, run->drive.output, &load, err)) {
		life_release(&life);
		return false;
	}
	verdict_init(&verdict);
	sync_check(&life, &execution, &(struct sync_options){.contract = run->contract}, &verdict);
	for (size_t i = 0; i < verdict.finding_count; i++)
		send_finding(s, &verdict.findings[i]);
	signals_of_life(&life, on_signal_word, s);
	verdict_release(&verdict);
	execution_release(&execution);
	life_release(&life);
	return true;
}

void judge_run_and_exit(const struct judge_run *run)
{
	struct sender sender = {.to = run->to, .out = BUF_INIT};
	struct drive_options drive = run->drive;
	struct drive_report report;
	struct err err;

	drive.log = on_log;
	drive.state = on_state;
	drive.block = on_block;
	drive.end_ctx = &sender;
	if (!drive_run(&drive, &report, &err))
		send_line(&sender, report.skipped ? "skip" : "fail", span_str(err.text));
	else if (!judge(&sender, run, &err))
		send_line(&sender, "fail", span_str(err.text));
	else
		send_line(&sender, "done", SPAN_NONE);
	flush(&sender);
	_exit(0);
}
