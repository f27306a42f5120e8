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

#include "capture/capture.h"
#include "db/hidden_levels.h"
#include "server/errors.h"
#include "sql/text/refused.h"

uint8_t txn_default_level(const struct capture *c)
{
	if (atomic_load(&c->node->hidden_levels) & HIDDEN_FROM_START)
		return LEVEL_UNKNOWN;
	return (uint8_t)atomic_load(&c->node->level);
}

static uint8_t known_level(struct capture *c, uint8_t level)
{
	if (level == LOOK_LEVEL_DEFAULT)
		return txn_default_level(c);
	return level == LOOK_LEVEL_UNREADABLE ? LEVEL_UNKNOWN : level;
}

static uint8_t level_for_new(const struct capture *c)
{
	return c->level_next != UINT8_MAX ? c->level_next : c->level_session;
}

uint8_t capture_level(const struct capture *c)
{
	return c->txn.open ? c->txn.level : level_for_new(c);
}

void txn_set_levels(struct capture *c, const struct look *look)
{
	if (look->level_global)
		atomic_store(&c->node->level, known_level(c, look->level_global));
	if (look->level_session) {
		c->level_session = known_level(c, look->level_session);
		if (!c->txn.open)
			c->level_next = UINT8_MAX;
	}
	if (look->level_next && !c->txn.open)
		c->level_next = known_level(c, look->level_next);
}

void txn_see_text(struct capture *c, struct span text, bool runs)
{
	unsigned hidden = 0;

	for (size_t i = 0; i < c->now.look_count; i++) {
		const struct look *look = &c->now.looks[i];

		/* Until it is answered nobody knows what a new session gets. */
		if (look->level_global && runs)
			atomic_store(&c->node->level, LEVEL_UNKNOWN);
		if (!look->hides_level)
			continue;
		c->hides_level = true;
		if (look_holds(text, "global") || look_holds(text, "persist") ||
			look_holds(text, "event"))
			hidden |= HIDDEN_FROM_START;
		if (look->class == LOOK_DEFINE)
			hidden |= look_holds(text, "function") || look_holds(text, "trigger") ||
						  look_holds(text, "package")
					  ? HIDDEN_IN_ANY
					  : HIDDEN_IN_CALLS;
	}
	if (hidden)
		atomic_fetch_or(&c->node->hidden_levels, hidden);
}

/* May the statement have set the session's level where nobody saw it? */
static bool may_set_level(const struct capture *c, const struct look *look)
{
	unsigned hidden = (unsigned)atomic_load(&c->node->hidden_levels);

	switch ((enum look_class)look->class) {
	case LOOK_CALL:
	case LOOK_UNKNOWN:
		return c->hides_level || (hidden & (HIDDEN_IN_CALLS | HIDDEN_IN_ANY));
	case LOOK_SET:
		return look->hides_level || (hidden & HIDDEN_IN_ANY);
	case LOOK_READ:
	case LOOK_WRITE:
	case LOOK_DEFINE:
		return hidden & HIDDEN_IN_ANY;
	case LOOK_BEGIN:
	case LOOK_COMMIT:
	case LOOK_ROLLBACK:
	case LOOK_SAVEPOINT:
	case LOOK_ROLLBACK_TO:
	case LOOK_RELEASE:
	case LOOK_XA_BEGIN:
	case LOOK_XA_END:
	case LOOK_XA_PREPARE:
	case LOOK_XA_COMMIT:
	case LOOK_XA_ROLLBACK:
	case LOOK_NEUTRAL:
		return false;
	}
	return true;
}

void txn_lose_level(struct capture *c, const struct look *look)
{
	if (!may_set_level(c, look))
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
	struct capture *c, const struct wire_command *command, const struct look *look)
{
	struct capture_txn *t = &c->txn;
	struct record_txn record = {.at = c->now.at,
		.session = c->id,
		.event = TXN_BEGIN,
		.number = command->number};

	buf_clear(&t->name);
	if (look->class == LOOK_XA_BEGIN)
		buf_add_span(&t->name, buf_span(&c->now.name));
	t->open = c->now.began = true;
	t->prepared = t->doubt = t->lost_commit = t->mixed = false;
	t->last_error = 0;
	t->id = c->worker->next_txn;
	c->worker->next_txn += c->worker->txn_step;
	t->level = level_for_new(c);
	t->read_only = (c->status & STATUS_IN_TRANS_READONLY) != 0;
	t->consistent_snapshot = look->consistent_snapshot;
	t->begin = command->begin.at;
	t->begin_seq = command->begin.seq;
	if (c->maybe_begin && look->class != LOOK_BEGIN && look->class != LOOK_XA_BEGIN) {
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
static void use_up_level(struct capture *c, enum look_tables tables)
{
	if (c->level_next == UINT8_MAX || tables == LOOK_TABLES_NONE)
		return;
	if (tables == LOOK_TABLES_SURE || c->level_next == c->level_session)
		c->level_next = UINT8_MAX;
	else
		c->level_next = LEVEL_UNKNOWN;
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
	/* One that failed may have touched none. */
	if (outcome == TXN_COMMITTED || c->now.tables == LOOK_TABLES_NONE)
		use_up_level(c, (enum look_tables)c->now.tables);
	else
		use_up_level(c, LOOK_TABLES_PERHAPS);
}

/* Runs as a transaction of its own when none is open. */
static bool is_data(const struct look *look)
{
	switch ((enum look_class)look->class) {
	case LOOK_UNKNOWN:
	case LOOK_READ:
	case LOOK_WRITE:
	case LOOK_DEFINE:
	case LOOK_CALL:
		return true;
	case LOOK_BEGIN:
	case LOOK_COMMIT:
	case LOOK_ROLLBACK:
	case LOOK_SAVEPOINT:
	case LOOK_ROLLBACK_TO:
	case LOOK_RELEASE:
	case LOOK_XA_BEGIN:
	case LOOK_XA_END:
	case LOOK_XA_PREPARE:
	case LOOK_XA_COMMIT:
	case LOOK_XA_ROLLBACK:
	case LOOK_SET:
	case LOOK_NEUTRAL:
		return false;
	}
	return true;
}

/* Could have committed the open transaction, were its answer never seen. */
static bool may_commit(const struct capture *c, const struct look *look)
{
	if (c->now.look_count != 1 || c->now.looks_end)
		return true;
	switch ((enum look_class)look->class) {
	case LOOK_READ:
	case LOOK_WRITE:
	case LOOK_ROLLBACK:
	case LOOK_SAVEPOINT:
	case LOOK_ROLLBACK_TO:
	case LOOK_RELEASE:
	case LOOK_XA_BEGIN:
	case LOOK_XA_END:
	case LOOK_XA_PREPARE:
	case LOOK_XA_ROLLBACK:
	case LOOK_NEUTRAL:
		return false;
	case LOOK_SET:
		return look->sets_autocommit;
	case LOOK_UNKNOWN:
	case LOOK_DEFINE:
	case LOOK_CALL:
	case LOOK_BEGIN:
	case LOOK_COMMIT:
	case LOOK_XA_COMMIT:
		return true;
	}
	return true;
}

/* May the n-th statement of a text end a transaction such that what the text did belongs to several?
 * Not one that ends it before all others or behind them. */
static bool ends_between(const struct look *look, size_t n, size_t count)
{
	switch ((enum look_class)look->class) {
	case LOOK_READ:
	case LOOK_WRITE:
	case LOOK_SAVEPOINT:
	case LOOK_ROLLBACK_TO:
	case LOOK_RELEASE:
	case LOOK_XA_END:
	case LOOK_NEUTRAL:
		return false;
	case LOOK_SET:
		return count > 1 && look->sets_autocommit;
	case LOOK_BEGIN:
	case LOOK_XA_BEGIN:
		return n > 0;
	case LOOK_COMMIT:
	case LOOK_ROLLBACK:
	case LOOK_XA_PREPARE:
	case LOOK_XA_COMMIT:
	case LOOK_XA_ROLLBACK:
		return n + 1 < count;
	case LOOK_DEFINE:
		return count > 1;
	case LOOK_UNKNOWN:
	case LOOK_CALL:
		return true;
	}
	return true;
}

/* May the command have ended a transaction inside, so that the one before it and the one behind it
 * are two, both open as far as the flags tell? */
static bool mixes(const struct capture *c, const struct wire_command *command,
	const struct wire_reply *reply)
{
	if (command->byte == CMD_STMT_PREPARE)
		return false;
	if (c->now.look_count == 1 && c->now.whole)
		return false;
	if (stmt_refused(buf_span(&c->now.text), buf_span(&c->database), reply->error, reply->message))
		return false;
	if (c->now.looks_end)
		return true;
	for (size_t i = 0; i < c->now.look_count; i++) {
		if (ends_between(&c->now.looks[i], i, c->now.look_count))
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

static bool begins_anew(const struct look *look)
{
	return look->class == LOOK_BEGIN || look->class == LOOK_XA_BEGIN || look->locks_tables;
}

static bool finishes(const struct look *look)
{
	return look->class == LOOK_COMMIT || look->class == LOOK_ROLLBACK;
}

/* The flags say that no transaction is open: how did this one end? */
static void end_by_flags(struct capture *c, uint32_t number, const struct look *look)
{
	struct capture_txn *t = &c->txn;

	switch ((enum look_class)look->class) {
	case LOOK_COMMIT:
	case LOOK_XA_COMMIT:
		txn_end(c, number, TXN_COMMITTED, "commit");
		return;
	case LOOK_ROLLBACK:
	case LOOK_XA_ROLLBACK:
		if (t->doubt)
			txn_end(c, number, TXN_UNKNOWN,
				"rollback behind a failed statement that may have committed");
		else
			txn_end(c, number, TXN_ABORTED, "rollback");
		return;
	case LOOK_DEFINE:
		txn_end(c, number, TXN_COMMITTED, "implicit commit");
		return;
	case LOOK_BEGIN:
	case LOOK_XA_BEGIN:
	case LOOK_SET:
		if (look->class != LOOK_SET || look->sets_autocommit) {
			txn_end(c, number, TXN_COMMITTED, "implicit commit");
			return;
		}
		break;
	case LOOK_XA_PREPARE:
		txn_end(c, number, TXN_UNKNOWN, "xa prepare: decided later, perhaps elsewhere");
		return;
	case LOOK_CALL:
	case LOOK_UNKNOWN:
		txn_end(c, number, TXN_UNKNOWN, "ended inside the statement");
		return;
	case LOOK_READ:
	case LOOK_WRITE:
	case LOOK_SAVEPOINT:
	case LOOK_ROLLBACK_TO:
	case LOOK_RELEASE:
	case LOOK_XA_END:
	case LOOK_NEUTRAL:
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
static bool ended_earlier(const struct look *look, uint16_t status)
{
	return !(status & STATUS_IN_TRANS) &&
	       (look->class == LOOK_READ || look->class == LOOK_WRITE ||
		       look->class == LOOK_NEUTRAL ||
		       (look->class == LOOK_SET && !look->sets_autocommit));
}

void txn_before(struct capture *c, const struct wire_command *command, const struct look *look,
	const struct wire_reply *reply)
{
	if (reply->has_status) {
		c->status = reply->status;
		c->status_known = true;
		if (c->txn.open && ended_earlier(look, reply->status))
			end_by_flags(c, 0, &(struct look){.class = LOOK_NEUTRAL});
		if (c->txn.open && c->txn.doubt && (reply->status & STATUS_IN_TRANS) &&
			!(reply->status & STATUS_AUTOCOMMIT))
			txn_end(c, 0, TXN_UNKNOWN, "a failed statement may have committed it");
		/* The answer of a ROLLBACK does not tell whether there was anything left. */
		if (look->class != LOOK_ROLLBACK && look->class != LOOK_XA_ROLLBACK)
			c->txn.doubt = false;
		if (!c->txn.open && (reply->status & STATUS_IN_TRANS))
			emit_begin(c, command, look);
		else if (c->txn.open && (reply->status & STATUS_IN_TRANS) && begins_anew(look)) {
			/* BEGIN in a transaction commits it and begins the next one: in MySQL at
			 * the same level, whatever was set since; in MariaDB at the session's.
			 * So does LOCK TABLES without autocommit. */
			uint8_t level = c->txn.level;

			txn_end(c, command->number, TXN_COMMITTED, "implicit commit");
			if (look->locks_tables)
				c->level_next =
					level == c->level_session ? UINT8_MAX : LEVEL_UNKNOWN;
			else if (atomic_load(&c->node->flavour) == FLAVOUR_MYSQL)
				c->level_next = level;
			emit_begin(c, command, look);
		}
	}
	if (reply->lost && (!command->complete || c->ended))
		return; /* the server never had all of it */
	if (c->txn.open) {
		c->now.txn = c->txn.id;
		c->txn.mixed |= mixes(c, command, reply);
	} else if (c->now.txn == 0 && is_data(look)) {
		c->now.txn = c->worker->next_txn;
		c->worker->next_txn += c->worker->txn_step;
		c->now.data = true;
	}
}

static void emit_savepoint(
	struct capture *c, const struct wire_command *command, const struct look *look)
{
	struct record_txn record = {
		.at = c->now.at,
		.session = c->id,
		.txn = c->txn.id,
		.number = command->number,
		.level = c->txn.level,
		.event = look->class == LOOK_SAVEPOINT ? TXN_SAVEPOINT
			 : look->class == LOOK_RELEASE ? TXN_RELEASE
						       : TXN_ROLLBACK_TO,
	};

	if (c->now.name.len)
		record.name = buf_span(&c->now.name);
	trace_emit_txn(c->worker->producer, &record);
}

static void after_flags(struct capture *c, const struct wire_command *command,
	const struct look *look, const struct wire_reply *reply)
{
	bool in = (reply->status & STATUS_IN_TRANS) != 0;

	if (c->txn.open && !in) {
		end_by_flags(c, command->number, look);
	} else if (c->txn.open && finishes(look) && !c->now.began) {
		/* Still in a transaction: AND CHAIN, or completion_type=CHAIN; it keeps the level.
		 */
		uint8_t level = c->txn.level;

		txn_end(c, command->number,
			look->class == LOOK_COMMIT ? TXN_COMMITTED : TXN_ABORTED,
			look->class == LOOK_COMMIT ? "commit" : "rollback");
		c->level_next = level;
		emit_begin(c, command, look);
	} else if (c->txn.open && look->class == LOOK_XA_PREPARE) {
		c->txn.prepared = true;
	} else if (c->txn.open && (look->class == LOOK_SAVEPOINT || look->class == LOOK_RELEASE ||
					  look->class == LOOK_ROLLBACK_TO)) {
		emit_savepoint(c, command, look);
	} else if (!c->txn.open && c->now.data) {
		txn_single(c, command, TXN_COMMITTED, "autocommit");
	} else if (!c->txn.open && command->byte == CMD_QUERY && c->now.tables) {
		use_up_level(c, look->class == LOOK_SET ? (enum look_tables)c->now.tables
							: LOOK_TABLES_PERHAPS);
	}
	if (!c->txn.open && (finishes(look) || look->class == LOOK_DEFINE)) {
		c->level_next = UINT8_MAX;
		buf_clear(&c->early_savepoints);
	}
	if (!c->txn.open && look->class == LOOK_SAVEPOINT && !(reply->status & STATUS_AUTOCOMMIT))
		note_early_savepoint(c, command->number);
	if (!in)
		c->maybe_begin = 0;
}

static void after_error(struct capture *c, const struct wire_command *command,
	const struct look *look, const struct wire_reply *reply)
{
	char reason[40];

	snprintf(reason, sizeof(reason), "error %u", reply->error);
	if (c->txn.open) {
		c->txn.last_error = reply->error;
		if (ends_whole(c, reply->error) && look->class != LOOK_COMMIT) {
			end_with_level(c, command->number, reason);
		} else if (ends_whole(c, reply->error)) {
			txn_end(c, command->number, TXN_ABORTED, reason);
		} else if (look->class == LOOK_COMMIT ||
			   (look->class == LOOK_XA_COMMIT && !refuses_xa(reply->error))) {
			txn_end(c, command->number, TXN_UNKNOWN, reason);
		} else if (look->class == LOOK_DEFINE && reply->error != ER_PARSE_ERROR) {
			c->txn.doubt = true;
		}
	} else if (c->now.data) {
		uint8_t level_next = c->level_next;

		/* A call may have committed part of its work before it failed. */
		txn_single(c, command,
			look->class == LOOK_CALL || look->class == LOOK_UNKNOWN ||
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

void txn_after(struct capture *c, const struct wire_command *command, const struct look *look,
	const struct wire_reply *reply)
{
	if (reply->has_status) {
		after_flags(c, command, look, reply);
	} else if (reply->kind == REPLY_ERR) {
		after_error(c, command, look, reply);
	} else if (reply->lost && command->complete && !c->ended) {
		/* Sent, never answered: either outcome may be (semantics.md, section 8). */
		if (c->txn.open)
			c->txn.lost_commit |= may_commit(c, look);
		else if (c->now.data)
			txn_single(c, command, TXN_UNKNOWN, "no answer");
	}
}
