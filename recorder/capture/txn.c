/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transactions of a session, from the server's status flags.
 *
 * Effective isolation level (semantics.md, section 8; measured on MariaDB 10.11, the same in MySQL's
 * manual): SET SESSION in a running transaction changes the session's level, not the
 * transaction's; outside one it also overrides a level set for the next transaction.  SET
 * TRANSACTION and SET @@name set the next transaction's only, which is used up when that ends: by COMMIT or ROLLBACK (even where
 * none is open) or a definition, or by the first autocommitted statement that reads or writes a
 * table.  An error that rolls the transaction back (1213, 1020) ends it without that: what comes
 * next has the old transaction's level (measured on MariaDB 10.11, 11.8, MySQL 9.7;
 * trans_rollback_implicit() resets nothing).
 */
#include <stdio.h>

#include "capture/capture_internal.h"
#include "db/levels_in_programs.h"
#include "server/errors.h"
#include "server/flavour.h"
#include "sql/text/raw_token.h"
#include "sql/text/refused.h"

uint8_t txn_default_level(const struct capture *c)
{
	if (atomic_load(&c->node->hidden_levels) & HIDDEN_FROM_START)
		return LEVEL_UNKNOWN;
	return (uint8_t)atomic_load(&c->node->level);
}

static uint8_t known_level(struct capture *c, uint8_t level)
{
	if (level == CLASS_LEVEL_DEFAULT)
		return txn_default_level(c);
	return level == CLASS_LEVEL_UNREADABLE ? LEVEL_UNKNOWN : level;
}

static uint8_t level_for_new(const struct capture *c)
{
	return c->level_next != UINT8_MAX ? c->level_next : c->level_session;
}

uint8_t capture_level(const struct capture *c)
{
	return c->txn.open ? c->txn.level : level_for_new(c);
}

void txn_set_levels(struct capture *c, const struct stmt_class *class)
{
	if (class->level_global)
		atomic_store(&c->node->level, known_level(c, class->level_global));
	if (class->level_session) {
		c->level_session = known_level(c, class->level_session);
		if (!c->txn.open)
			c->level_next = UINT8_MAX;
	}
	if (class->level_next && !c->txn.open)
		c->level_next = known_level(c, class->level_next);
}

void txn_see_text(struct capture *c, struct span text, bool runs)
{
	unsigned hidden = 0;

	for (size_t i = 0; i < c->now.class_count; i++) {
		const struct stmt_class *class = &c->now.classes[i];

		/* Until it is answered it is not known what a new session gets. */
		if (class->level_global && runs)
			atomic_store(&c->node->level, LEVEL_UNKNOWN);
		if (!class->hides_level)
			continue;
		c->hides_level = true;
		if (text_holds_word(text, "global") || text_holds_word(text, "persist") ||
			text_holds_word(text, "event"))
			hidden |= HIDDEN_FROM_START;
		if (class->kind == CLASS_DEFINE)
			hidden |= text_holds_word(text, "function") ||
						  text_holds_word(text, "trigger") ||
						  text_holds_word(text, "package")
					  ? HIDDEN_IN_ANY
					  : HIDDEN_IN_CALLS;
	}
	if (hidden)
		atomic_fetch_or(&c->node->hidden_levels, hidden);
}

/* May the statement have set the session's level where the recorder did not see it? */
static bool may_set_level(const struct capture *c, const struct stmt_class *class)
{
	unsigned hidden = (unsigned)atomic_load(&c->node->hidden_levels);

	switch ((enum stmt_class_kind) class->kind) {
	case CLASS_CALL:
	case CLASS_UNKNOWN:
		return c->hides_level || (hidden & (HIDDEN_IN_CALLS | HIDDEN_IN_ANY));
	case CLASS_SET:
		return class->hides_level || (hidden & HIDDEN_IN_ANY);
	case CLASS_READ:
	case CLASS_WRITE:
	case CLASS_DEFINE:
		return hidden & HIDDEN_IN_ANY;
	case CLASS_BEGIN:
	case CLASS_COMMIT:
	case CLASS_ROLLBACK:
	case CLASS_SAVEPOINT:
	case CLASS_ROLLBACK_TO:
	case CLASS_RELEASE:
	case CLASS_XA_BEGIN:
	case CLASS_XA_END:
	case CLASS_XA_PREPARE:
	case CLASS_XA_COMMIT:
	case CLASS_XA_ROLLBACK:
	case CLASS_NEUTRAL:
		return false;
	}
	return true;
}

void txn_lose_level(struct capture *c, const struct stmt_class *class)
{
	if (!may_set_level(c, class))
		return;
	c->level_session = LEVEL_UNKNOWN;
	/* What was set for the next one may be another, or used up; that of an open one stays. */
	if (!c->txn.open)
		c->level_next = UINT8_MAX;
}

void txn_check_default(struct capture *c, uint8_t before)
{
	if (txn_default_level(c) != before)
		c->level_session = LEVEL_UNKNOWN;
}

void txn_reset_session(struct capture *c)
{
	c->level_session = txn_default_level(c);
	c->level_next = UINT8_MAX;
	c->hides_level = false;
	buf_clear(&c->early_savepoints);
}

enum { EARLY_SAVEPOINTS_MAX = 4096 }; /* bytes */

static void note_early_savepoint(struct capture *c, uint32_t number)
{
	struct buf *early = &c->early_savepoints;

	if (!c->now.name.len || early->len + c->now.name.len > EARLY_SAVEPOINTS_MAX ||
		memchr(c->now.name.data, '\0', c->now.name.len))
		return;
	buf_add(early, &number, sizeof(number));
	buf_add_span(early, buf_span(&c->now.name));
	buf_add(early, "", 1);
}

static void emit_early_savepoints(struct capture *c)
{
	for (size_t at = 0; at < c->early_savepoints.len;) {
		const char *entry = c->early_savepoints.data + at;
		struct record_txn record = {.at = c->now.at,
			.session = c->id,
			.txn = c->txn.id,
			.event = TXN_SAVEPOINT,
			.level = c->txn.level,
			.name = span_str(entry + sizeof(record.number))};

		memcpy(&record.number, entry, sizeof(record.number));
		trace_emit_txn(c->worker->producer, &record);
		at += sizeof(record.number) + record.name.len + 1;
	}
	buf_clear(&c->early_savepoints);
}

static void emit_begin(
	struct capture *c, const struct wire_command *command, const struct stmt_class *class)
{
	struct capture_txn *t = &c->txn;
	struct record_txn record = {.at = c->now.at,
		.session = c->id,
		.event = TXN_BEGIN,
		.number = command->number};

	buf_clear(&t->name);
	if (class->kind == CLASS_XA_BEGIN)
		buf_add_span(&t->name, buf_span(&c->now.name));
	t->open = c->now.began = true;
	t->prepared = t->doubt = t->lost_commit = t->mixed = false;
	t->last_error = 0;
	t->id = c->worker->next_txn;
	c->worker->next_txn += c->worker->txn_step;
	t->level = level_for_new(c);
	t->read_only = (c->status & STATUS_IN_TRANS_READONLY) != 0;
	t->consistent_snapshot = class->consistent_snapshot;
	t->begin = command->begin.at;
	t->begin_seq = command->begin.seq;
	if (c->maybe_begin && class->kind != CLASS_BEGIN && class->kind != CLASS_XA_BEGIN) {
		t->begin = c->maybe_begin;
		t->begin_seq = c->maybe_begin_seq;
	}
	c->maybe_begin = 0;
	record.txn = t->id;
	record.level = t->level;
	record.read_only = t->read_only;
	record.consistent_snapshot = t->consistent_snapshot;
	record.begin = t->begin;
	record.begin_seq = t->begin_seq;
	if (t->name.len)
		record.name = buf_span(&t->name);
	trace_emit_txn(c->worker->producer, &record);
	emit_early_savepoints(c);
}

void txn_end(struct capture *c, uint32_t number, enum txn_outcome outcome, const char *reason)
{
	struct capture_txn *t = &c->txn;
	struct record_txn record = {
		.at = c->now.at,
		.session = c->id,
		.txn = t->id,
		.event = TXN_END,
		.number = number,
		.level = t->level,
		.read_only = t->read_only,
		.consistent_snapshot = t->consistent_snapshot,
		.outcome = (uint8_t)outcome,
		.begin = t->begin,
		.begin_seq = t->begin_seq,
		.reason = span_str(reason),
		.mixed = t->mixed ? TXN_MIXED_YES : TXN_MIXED_NO,
	};

	if (c->now.gtid.len && outcome == TXN_COMMITTED)
		record.gtid = buf_span(&c->now.gtid);
	if (t->name.len)
		record.name = buf_span(&t->name);
	trace_emit_txn(c->worker->producer, &record);
	c->answered_commit |= outcome != TXN_ABORTED;
	t->open = false;
	c->level_next = UINT8_MAX;
	buf_release(&t->name);
}

/* An error of a statement rolled it back whole: the next one has its level. */
static void end_with_level(struct capture *c, uint32_t number, const char *reason)
{
	txn_end(c, number, TXN_ABORTED, reason);
	if (c->txn.level != c->level_session)
		c->level_next = c->txn.level;
}

/* A level for the next transaction holds until a table is touched. */
static void use_up_level(struct capture *c, enum text_tables tables)
{
	if (c->level_next == UINT8_MAX || tables == TEXT_TABLES_NONE)
		return;
	if (tables == TEXT_TABLES_SURE || c->level_next == c->level_session)
		c->level_next = UINT8_MAX;
	else
		c->level_next = LEVEL_UNKNOWN;
}

/* A single SELECT, SHOW or the like. */
static bool only_reads(const struct capture *c)
{
	return c->now.class_count == 1 && !c->now.classes_end && c->now.classes[0].kind == CLASS_READ;
}

void txn_single(struct capture *c, const struct wire_command *command, enum txn_outcome outcome,
	const char *reason)
{
	struct record_txn record = {
		.at = c->now.at,
		.session = c->id,
		.txn = c->now.txn,
		.event = TXN_END,
		.number = command->number,
		.level = level_for_new(c),
		.read_only = (c->status & STATUS_IN_TRANS_READONLY) != 0,
		.autocommit = true,
		.outcome = (uint8_t)outcome,
		.begin = command->begin.at,
		.begin_seq = command->begin.seq,
		.reason = span_str(reason),
		.mixed = TXN_MIXED_NO,
	};

	if (c->now.gtid.len && outcome == TXN_COMMITTED)
		record.gtid = buf_span(&c->now.gtid);
	trace_emit_txn(c->worker->producer, &record);
	c->answered_commit |= outcome != TXN_ABORTED && !only_reads(c);
	/* One that failed may have touched none. */
	if (outcome == TXN_COMMITTED || c->now.tables == TEXT_TABLES_NONE)
		use_up_level(c, (enum text_tables)c->now.tables);
	else
		use_up_level(c, TEXT_TABLES_PERHAPS);
}

/* Runs as a transaction of its own when none is open. */
static bool is_data(const struct stmt_class *class)
{
	switch ((enum stmt_class_kind) class->kind) {
	case CLASS_UNKNOWN:
	case CLASS_READ:
	case CLASS_WRITE:
	case CLASS_DEFINE:
	case CLASS_CALL:
		return true;
	case CLASS_BEGIN:
	case CLASS_COMMIT:
	case CLASS_ROLLBACK:
	case CLASS_SAVEPOINT:
	case CLASS_ROLLBACK_TO:
	case CLASS_RELEASE:
	case CLASS_XA_BEGIN:
	case CLASS_XA_END:
	case CLASS_XA_PREPARE:
	case CLASS_XA_COMMIT:
	case CLASS_XA_ROLLBACK:
	case CLASS_SET:
	case CLASS_NEUTRAL:
		return false;
	}
	return true;
}

/* Could have committed the open transaction, were its answer never seen. */
static bool may_commit(const struct capture *c, const struct stmt_class *class)
{
	if (c->now.class_count != 1 || c->now.classes_end)
		return true;
	switch ((enum stmt_class_kind) class->kind) {
	case CLASS_READ:
	case CLASS_WRITE:
	case CLASS_ROLLBACK:
	case CLASS_SAVEPOINT:
	case CLASS_ROLLBACK_TO:
	case CLASS_RELEASE:
	case CLASS_XA_BEGIN:
	case CLASS_XA_END:
	case CLASS_XA_PREPARE:
	case CLASS_XA_ROLLBACK:
	case CLASS_NEUTRAL:
		return false;
	case CLASS_SET:
		return class->sets_autocommit;
	case CLASS_UNKNOWN:
	case CLASS_DEFINE:
	case CLASS_CALL:
	case CLASS_BEGIN:
	case CLASS_COMMIT:
	case CLASS_XA_COMMIT:
		return true;
	}
	return true;
}

/* May the n-th statement of a text end a transaction such that what the text did belongs to several?
 * Not one that ends it before all others or after them. */
static bool ends_between(const struct stmt_class *class, size_t n, size_t count)
{
	switch ((enum stmt_class_kind) class->kind) {
	case CLASS_READ:
	case CLASS_WRITE:
	case CLASS_SAVEPOINT:
	case CLASS_ROLLBACK_TO:
	case CLASS_RELEASE:
	case CLASS_XA_END:
	case CLASS_NEUTRAL:
		return false;
	case CLASS_SET:
		return count > 1 && class->sets_autocommit;
	case CLASS_BEGIN:
	case CLASS_XA_BEGIN:
		return n > 0;
	case CLASS_COMMIT:
	case CLASS_ROLLBACK:
	case CLASS_XA_PREPARE:
	case CLASS_XA_COMMIT:
	case CLASS_XA_ROLLBACK:
		return n + 1 < count;
	case CLASS_DEFINE:
		return count > 1;
	case CLASS_UNKNOWN:
	case CLASS_CALL:
		return true;
	}
	return true;
}

/* May the command have ended a transaction inside, so that the one before it and the one after it
 * are two, both open as far as the flags tell? */
static bool mixes(const struct capture *c, const struct wire_command *command,
	const struct wire_reply *reply)
{
	if (command->byte == CMD_STMT_PREPARE)
		return false;
	if (c->now.class_count == 1 && c->now.whole)
		return false;
	if (stmt_refused(buf_span(&c->now.text), buf_span(&c->database), reply->error, reply->message))
		return false;
	if (c->now.classes_end)
		return true;
	for (size_t i = 0; i < c->now.class_count; i++) {
		if (ends_between(&c->now.classes[i], i, c->now.class_count))
			return true;
	}
	return false;
}

static bool ends_whole(const struct capture *c, uint16_t error)
{
	switch (error) {
	case ER_LOCK_DEADLOCK:
	case ER_CHECKREAD:
	case ER_XA_RBROLLBACK:
	case ER_XA_RBTIMEOUT:
	case ER_XA_RBDEADLOCK:
	case ER_TRANSACTION_ROLLBACK_DURING_COMMIT:
		return true;
	case ER_LOCK_WAIT_TIMEOUT:
		return c->node->rollback_on_timeout;
	default:
		return false;
	}
}

/* A statement that commits itself may have done so when it says this. */
static bool leaves_open(uint16_t error)
{
	return error == ER_SERVER_SHUTDOWN || error == ER_ERROR_DURING_COMMIT ||
	       error == ER_CONNECTION_KILLED || error == ER_SESSION_WAS_KILLED;
}

/* The XA statement does not fit the state of the session, which stays as it was. */
static bool refuses_xa(uint16_t error)
{
	return error >= ER_XAER_NOTA && error <= ER_XAER_OUTSIDE;
}

static bool begins_anew(const struct stmt_class *class)
{
	return class->kind == CLASS_BEGIN || class->kind == CLASS_XA_BEGIN || class->locks_tables;
}

static bool finishes(const struct stmt_class *class)
{
	return class->kind == CLASS_COMMIT || class->kind == CLASS_ROLLBACK;
}

/* The flags say that no transaction is open: how did this one end? */
static void end_by_flags(struct capture *c, uint32_t number, const struct stmt_class *class)
{
	struct capture_txn *t = &c->txn;

	switch ((enum stmt_class_kind) class->kind) {
	case CLASS_COMMIT:
	case CLASS_XA_COMMIT:
		txn_end(c, number, TXN_COMMITTED, "commit");
		return;
	case CLASS_ROLLBACK:
	case CLASS_XA_ROLLBACK:
		if (t->doubt)
			txn_end(c, number, TXN_UNKNOWN,
				"rollback after a failed statement that may have committed");
		else
			txn_end(c, number, TXN_ABORTED, "rollback");
		return;
	case CLASS_DEFINE:
		txn_end(c, number, TXN_COMMITTED, "implicit commit");
		return;
	case CLASS_BEGIN:
	case CLASS_XA_BEGIN:
	case CLASS_SET:
		if (class->kind != CLASS_SET || class->sets_autocommit) {
			txn_end(c, number, TXN_COMMITTED, "implicit commit");
			return;
		}
		break;
	case CLASS_XA_PREPARE:
		txn_end(c, number, TXN_UNKNOWN, "xa prepare: decided later, perhaps elsewhere");
		return;
	case CLASS_CALL:
	case CLASS_UNKNOWN:
		txn_end(c, number, TXN_UNKNOWN, "ended inside the statement");
		return;
	case CLASS_READ:
	case CLASS_WRITE:
	case CLASS_SAVEPOINT:
	case CLASS_ROLLBACK_TO:
	case CLASS_RELEASE:
	case CLASS_XA_END:
	case CLASS_NEUTRAL:
		break;
	}
	/* It had ended before this statement, with an earlier error. */
	if (t->doubt)
		txn_end(c, number, TXN_COMMITTED, "implicit commit of a statement that failed");
	else if (t->last_error == ER_LOCK_WAIT_TIMEOUT)
		end_with_level(c, number, "error 1205 (innodb_rollback_on_timeout)");
	else
		txn_end(c, number, TXN_UNKNOWN, "ended, the server did not say how");
}

/* The last flags before a statement's own answer contradicted what we believed. */
static bool ended_earlier(const struct stmt_class *class, uint16_t status)
{
	return !(status & STATUS_IN_TRANS) &&
	       (class->kind == CLASS_READ || class->kind == CLASS_WRITE ||
		       class->kind == CLASS_NEUTRAL ||
		       (class->kind == CLASS_SET && !class->sets_autocommit));
}

void txn_before(struct capture *c, const struct wire_command *command,
	const struct stmt_class *class, const struct wire_reply *reply)
{
	if (reply->has_status) {
		c->status = reply->status;
		c->status_known = true;
		if (c->txn.open && ended_earlier(class, reply->status))
			end_by_flags(c, 0, &(struct stmt_class){.kind = CLASS_NEUTRAL});
		if (c->txn.open && c->txn.doubt && (reply->status & STATUS_IN_TRANS) &&
			!(reply->status & STATUS_AUTOCOMMIT))
			txn_end(c, 0, TXN_UNKNOWN, "a failed statement may have committed it");
		/* The answer of a ROLLBACK does not tell whether there was anything left. */
		if (class->kind != CLASS_ROLLBACK && class->kind != CLASS_XA_ROLLBACK)
			c->txn.doubt = false;
		if (!c->txn.open && (reply->status & STATUS_IN_TRANS))
			emit_begin(c, command, class);
		else if (c->txn.open && (reply->status & STATUS_IN_TRANS) && begins_anew(class)) {
			/* BEGIN in a transaction commits it and begins the next one: in MySQL at
			 * the same level, whatever was set since; in MariaDB at the session's.
			 * So does LOCK TABLES without autocommit. */
			uint8_t level = c->txn.level;

			txn_end(c, command->number, TXN_COMMITTED, "implicit commit");
			if (class->locks_tables)
				c->level_next =
					level == c->level_session ? UINT8_MAX : LEVEL_UNKNOWN;
			else if (atomic_load(&c->node->flavour) == SERVER_MYSQL)
				c->level_next = level;
			emit_begin(c, command, class);
		}
	}
	if (reply->lost && (!command->complete || c->ended))
		return; /* the server never had all of it */
	if (c->txn.open) {
		c->now.txn = c->txn.id;
		if (mixes(c, command, reply))
			c->txn.mixed = c->answered_commit = true;
	} else if (c->now.txn == 0 && is_data(class)) {
		c->now.txn = c->worker->next_txn;
		c->worker->next_txn += c->worker->txn_step;
		c->now.data = true;
	}
}

static void emit_savepoint(
	struct capture *c, const struct wire_command *command, const struct stmt_class *class)
{
	struct record_txn record = {
		.at = c->now.at,
		.session = c->id,
		.txn = c->txn.id,
		.number = command->number,
		.level = c->txn.level,
		.event = class->kind == CLASS_SAVEPOINT ? TXN_SAVEPOINT
			 : class->kind == CLASS_RELEASE ? TXN_RELEASE
							: TXN_ROLLBACK_TO,
	};

	if (c->now.name.len)
		record.name = buf_span(&c->now.name);
	trace_emit_txn(c->worker->producer, &record);
}

static void after_flags(struct capture *c, const struct wire_command *command,
	const struct stmt_class *class, const struct wire_reply *reply)
{
	bool in = (reply->status & STATUS_IN_TRANS) != 0;

	if (c->txn.open && !in) {
		end_by_flags(c, command->number, class);
	} else if (c->txn.open && finishes(class) && !c->now.began) {
		/* Still in a transaction: AND CHAIN, or completion_type=CHAIN; it keeps the level.
		 */
		uint8_t level = c->txn.level;

		txn_end(c, command->number,
			class->kind == CLASS_COMMIT ? TXN_COMMITTED : TXN_ABORTED,
			class->kind == CLASS_COMMIT ? "commit" : "rollback");
		c->level_next = level;
		emit_begin(c, command, class);
	} else if (c->txn.open && class->kind == CLASS_XA_PREPARE) {
		c->txn.prepared = true;
		c->answered_commit = true; /* the promise to commit */
	} else if (c->txn.open && (class->kind == CLASS_SAVEPOINT || class->kind == CLASS_RELEASE ||
					  class->kind == CLASS_ROLLBACK_TO)) {
		emit_savepoint(c, command, class);
	} else if (!c->txn.open && c->now.data) {
		txn_single(c, command, TXN_COMMITTED, "autocommit");
	} else if (!c->txn.open && command->byte == CMD_QUERY && c->now.tables) {
		use_up_level(c, class->kind == CLASS_SET ? (enum text_tables)c->now.tables
							 : TEXT_TABLES_PERHAPS);
	}
	if (!c->txn.open && (finishes(class) || class->kind == CLASS_DEFINE)) {
		c->level_next = UINT8_MAX;
		buf_clear(&c->early_savepoints);
	}
	if (!c->txn.open && class->kind == CLASS_SAVEPOINT && !(reply->status & STATUS_AUTOCOMMIT))
		note_early_savepoint(c, command->number);
	if (!in)
		c->maybe_begin = 0;
}

static void after_error(struct capture *c, const struct wire_command *command,
	const struct stmt_class *class, const struct wire_reply *reply)
{
	char reason[40];

	snprintf(reason, sizeof(reason), "error %u", reply->error);
	if (c->txn.open) {
		c->txn.last_error = reply->error;
		if (ends_whole(c, reply->error) && class->kind != CLASS_COMMIT) {
			end_with_level(c, command->number, reason);
		} else if (ends_whole(c, reply->error)) {
			txn_end(c, command->number, TXN_ABORTED, reason);
		} else if (class->kind == CLASS_COMMIT ||
			   (class->kind == CLASS_XA_COMMIT && !refuses_xa(reply->error))) {
			txn_end(c, command->number, TXN_UNKNOWN, reason);
		} else if (class->kind == CLASS_DEFINE && reply->error != ER_PARSE_ERROR) {
			c->txn.doubt = true;
		}
	} else if (c->now.data) {
		uint8_t level_next = c->level_next;

		/* A call may have committed part of its work before it failed. */
		txn_single(c, command,
			class->kind == CLASS_CALL || class->kind == CLASS_UNKNOWN ||
					leaves_open(reply->error)
				? TXN_UNKNOWN
				: TXN_ABORTED,
			reason);
		/* Without autocommit the transaction may go on, and what SET TRANSACTION said
		 * of it holds until it ends. */
		if (c->status_known && !(c->status & STATUS_AUTOCOMMIT))
			c->level_next = level_next;
		if (c->status_known && !(c->status & STATUS_AUTOCOMMIT) && !c->maybe_begin) {
			c->maybe_begin = command->begin.at;
			c->maybe_begin_seq = command->begin.seq;
		}
	}
}

void txn_after(struct capture *c, const struct wire_command *command,
	const struct stmt_class *class, const struct wire_reply *reply)
{
	if (reply->has_status) {
		after_flags(c, command, class, reply);
	} else if (reply->kind == REPLY_ERR) {
		after_error(c, command, class, reply);
	} else if (reply->lost && command->complete && !c->ended) {
		/* Sent, never answered: either outcome may be (semantics.md, section 8). */
		if (c->txn.open)
			c->txn.lost_commit |= may_commit(c, class);
		else if (c->now.data)
			txn_single(c, command, TXN_UNKNOWN, "no answer");
	}
}
