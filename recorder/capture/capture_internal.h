/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of capture share: session.c and result.c have the events of wire/wire.h that belong
 * to them, capture.c those of commands and answers.
 */
#ifndef CAPTURE_CAPTURE_INTERNAL_H
#define CAPTURE_CAPTURE_INTERNAL_H

#include "capture/capture.h"
#include "capture/secrets.h"
#include "trace/pack.h"

static inline struct span span_or_none(const struct buf *buf)
{
	return buf->len ? buf_span(buf) : SPAN_NONE;
}

static inline void capture_keep(struct buf *buf, struct span s)
{
	buf_clear(buf);
	if (s.len)
		buf_add_span(buf, s);
}

/* Given back when a statement made it large. */
static inline void capture_reuse(struct buf *buf)
{
	if (buf->capacity > WIRE_BUFFER_IDLE_MAX)
		buf_release(buf);
	else
		buf_clear(buf);
}

static inline const struct filter *capture_filter(const struct capture *c)
{
	return atomic_load_explicit(&c->worker->config->filter, memory_order_acquire);
}

/* session.c */
void capture_emit_session(struct capture *c, enum session_event event, const char *reason);
/* Its record is made, unless it was. */
void capture_opened(struct capture *c);
void capture_note(struct capture *c, struct span topic, struct span text);
void capture_note_error(struct capture *c, struct span topic, const struct wire_reply *reply);
void capture_greeting(void *ctx, const struct wire_greeting *greeting);
void capture_login(void *ctx, const struct wire_login *login);
void capture_authenticated(void *ctx, const struct wire_reply *reply);

/* result.c */
void capture_columns(
	void *ctx, struct wire_command *command, const struct wire_columns *columns);
void capture_row(void *ctx, struct wire_command *command, const struct wire_columns *columns,
	const struct packet *row);
void capture_rows(void *ctx, struct wire_command *command, const struct wire_columns *columns,
	struct span packets, size_t count);
void capture_result_end(struct capture *c, const struct wire_command *command);

/* txn.c */
void txn_set_levels(struct capture *c, const struct stmt_class *class);
/* A text that is sent, after its classes; runs: not only prepared. */
void txn_see_text(struct capture *c, struct span text, bool runs);
/* Of an answered statement, before all else: it may have set the level out of sight. */
void txn_lose_level(struct capture *c, const struct stmt_class *class);
/* What a new session has, as far as it is known. */
uint8_t txn_default_level(const struct capture *c);
/* The session began anew, at some time since new ones had the level `before`. */
void txn_check_default(struct capture *c, uint8_t before);
/* Before the statement's record: may begin a transaction; decides now.txn. */
void txn_before(struct capture *c, const struct wire_command *command,
	const struct stmt_class *class, const struct wire_reply *reply);
/* After it: ends transactions. */
void txn_after(struct capture *c, const struct wire_command *command,
	const struct stmt_class *class, const struct wire_reply *reply);
/* A statement that was a transaction of its own. */
void txn_single(struct capture *c, const struct wire_command *command, enum txn_outcome outcome,
	const char *reason);
void txn_end(struct capture *c, uint32_t number, enum txn_outcome outcome, const char *reason);
void txn_reset_session(struct capture *c);

/* capture.c: a prepared statement, or with number 0 all, is no longer context of later segments. */
void capture_forget_prepared(struct capture *c, uint32_t number);
/* How texts of the session are read. */
struct text_dialect capture_dialect(const struct capture *c);

#endif
