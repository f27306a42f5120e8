/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/client.h"

#include <stdio.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "db/connect.h"
#include "db/query.h"
#include "db/variables.h"
#include "run/prepared.h"
#include "wire/proto.h"

/* ---- connecting ---- */

static MYSQL *dial(const struct run_target *target, struct err *err)
{
	MYSQL *mysql = mysql_init(NULL);
	unsigned protocol;

	/* These two take memory; without what the first makes, the library's calls that do not block crash. */
	if (!mysql || mysql_options(mysql, MYSQL_OPT_NONBLOCK, 0) != 0 ||
		mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4") != 0) {
		err_set(err, ERR_SERVER, "no memory for a connection");
		if (mysql)
			mysql_close(mysql);
		return NULL;
	}
	mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &target->timeout_s);
	if (target->read_timeout_s)
		mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &target->read_timeout_s);
	/* The library takes the socket for the host "localhost" only. */
	protocol = target->socket ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
	mysql_options(mysql, MYSQL_OPT_PROTOCOL, &protocol);
	if (mysql_real_connect(mysql, target->socket ? NULL : target->host, target->user,
		    target->password, target->database, target->port, target->socket,
		    CLIENT_MULTI_RESULTS))
		return mysql;
	if (target->socket)
		err_set(err, ERR_SERVER, "cannot connect to %s as '%s': %s", target->socket,
			target->user, mysql_error(mysql));
	else
		err_set(err, ERR_SERVER, "cannot connect to %s, port %u, as '%s': %s", target->host,
			target->port, target->user, mysql_error(mysql));
	mysql_close(mysql);
	return NULL;
}

MYSQL *client_dial(const struct run_target *target, struct err *err)
{
	MYSQL *mysql = dial(target, err);

	/* Whatever the server's configuration says: what is prepared for others must be there for them. */
	if (mysql)
		db_forget_password(mysql);
	if (mysql && !db_query_within(mysql, "set session " OWN_LIMITS ", " OWN_LOGIN,
			     target->timeout_s)) {
		err_set(err, ERR_SERVER, "the session cannot be set up: %s",
			mysql_errno(mysql) ? mysql_error(mysql)
					   : "no answer in time (--connect-timeout)");
		mysql_close(mysql);
		return NULL;
	}
	return mysql;
}

bool client_answers(const struct run_target *target)
{
	struct run_target anywhere = *target;
	struct err err;
	MYSQL *mysql;

	anywhere.database = NULL;
	mysql = client_dial(&anywhere, &err);
	if (mysql)
		mysql_close(mysql);
	return mysql != NULL;
}

/* What the proxy would have seen of the connection phase. */
static void tell_login(struct client *c, const struct run_target *target)
{
	enum { UTF8MB4 = 45 };
	struct wire_greeting greeting = {
		.charset = UTF8MB4,
		.version = span_str(mysql_get_server_info(c->mysql)),
		.thread = (uint32_t)mysql_thread_id(c->mysql),
	};
	struct wire_login login = {
		.user = span_str(target->user),
		.schema = target->database ? span_str(target->database) : SPAN_LIT(""),
		.in_force = c->mysql->client_flag,
		.charset = UTF8MB4,
	};
	MY_CHARSET_INFO charset;
	struct wire_reply reply = {.kind = REPLY_OK,
		.last = true,
		.has_status = true,
		.status = (uint16_t)c->mysql->server_status};

	mysql_get_character_set_info(c->mysql, &charset);
	login.charset = (uint16_t)charset.number;
	capture_sink.greeting(&c->capture, &greeting);
	capture_sink.login(&c->capture, &login);
	capture_sink.authenticated(&c->capture, &reply);
}

bool client_open(struct client *c, const struct run_target *target, struct capture_worker *worker,
	struct capture_node *node, uint32_t id, const char *name, struct err *err)
{
	*c = (struct client){.name = name, .packer.columns = WIRE_COLUMNS_INIT};
	c->mysql = dial(target, err);
	if (!c->mysql)
		return err_prefix(err, "session %s", name);
	capture_open(&c->capture, worker, node, id, name);
	c->recorded = true;
	tell_login(c, target);
	return true;
}

void client_instrument(
	struct client *c, const struct instrument_tables *tables, const uint64_t *ended)
{
	struct sql_options options =
		sql_options_for_server(span_str(mysql_get_server_info(c->mysql)));

	instrument_session_init(&c->instrument, tables, &options);
	c->instrument.ended = ended;
	c->instrumented = true;
}

static void take_own_rows(struct client *c, MYSQL_RES *result)
{
	const struct own_query *query = instrument_next_query(&c->instrument);
	struct span values[PLAN_TABLES_MAX];
	MYSQL_ROW row;

	while (mysql_num_fields(result) == query->columns &&
		(row = mysql_fetch_row(result)) != NULL) {
		const unsigned long *lengths = mysql_fetch_lengths(result);

		for (size_t i = 0; i < query->columns; i++)
			values[i] = row[i] ? span_of(row[i], lengths[i]) : SPAN_NONE;
		instrument_query_row(&c->instrument, &c->capture, values);
	}
}

/* Select mode, when no statement follows: looks at the rows of the last write, on a connection that
 * can see them. */
static void finish_select(struct client *c, MYSQL *mysql)
{
	static const struct stmt_plan nothing;

	if (!c->instrumented || !instrument_in_select_mode(&c->instrument) || c->dead)
		return;
	instrument_begin_planned(&c->instrument, &c->capture, 0, &nothing, NULL, 0);
	for (const struct own_query *q; (q = instrument_next_query(&c->instrument)) != NULL;) {
		MYSQL_RES *result = NULL;

		if (db_send_bytes(mysql, q->sql.data, q->sql.len) == 0)
			result = db_result(mysql);
		if (result)
			take_own_rows(c, result);
		mysql_free_result(result);
		(void)!instrument_query_end(
			&c->instrument, &c->capture, mysql_errno(mysql), false);
	}
}

/* What the last write logged.  The statement touches no table: it neither waits nor opens a
 * transaction.  False: the server said that the transaction is gone. */
static bool read_log(struct client *c)
{
	MYSQL_RES *result = NULL;
	MYSQL_ROW row = NULL;
	const unsigned long *lengths;
	struct buf sql = BUF_INIT;

	if (!c->instrumented || !instrument_wants_log(&c->instrument))
		return true;
	instrument_log_query(&c->instrument, &sql);
	if (!c->dead && db_send(c->mysql, sql.data) == 0)
		result = db_result(c->mysql);
	buf_release(&sql);
	if (!result && !c->dead && select_is_late_abort(mysql_errno(c->mysql)))
		return false;
	if (result)
		row = mysql_fetch_row(result);
	lengths = row ? mysql_fetch_lengths(result) : NULL;
	instrument_take_log(&c->instrument, &c->capture, row && row[1] && row[2],
		row && row[0] ? span_of(row[0], lengths[0]) : SPAN_NONE,
		row && row[1] ? span_of(row[1], lengths[1]) : SPAN_NONE,
		row && row[2] ? span_of(row[2], lengths[2]) : SPAN_NONE);
	mysql_free_result(result);
	return true;
}

/* False: the same. */
static bool send_before(struct client *c)
{
	bool ok;

	if (!read_log(c))
		return false;
	if (!instrument_wants_reset(&c->instrument))
		return true;
	ok = db_send(c->mysql, c->instrument.tables->reset_sql) == 0;
	instrument_log_emptied(&c->instrument, ok);
	/* Another failure is one of the connection, and the statement will show it. */
	return ok || !select_is_late_abort(mysql_errno(c->mysql));
}

void client_close(struct client *c, enum close_reason reason)
{
	(void)!read_log(c);
	finish_select(c, c->mysql);
	if (c->recorded)
		capture_close(&c->capture, reason, NULL);
	if (c->result)
		mysql_free_result(c->result);
	prepared_release(c);
	if (c->mysql)
		mysql_close(c->mysql);
	row_packer_release(&c->packer);
	buf_release(&c->sql);
	buf_release(&c->rows);
	instrument_session_release(&c->instrument);
	*c = (struct client){0};
}

/* ---- events ---- */

void client_tell_row(struct client *c, MYSQL_ROW row, const unsigned long *lengths, bool keep)
{
	struct packet packet = {.payload = row_packet(&c->packer, row, lengths)};

	packet.total = packet.payload.len;
	c->command.reply_bytes += packet.total + 4;
	capture_sink.row(&c->capture, &c->command, &c->packer.columns, &packet);
	/* For expectations, as the trace has it. */
	if (keep &&
		!row_pack(&c->packer, row, lengths, &c->rows, &c->capture.worker->config->values))
		c->rows_bad = true;
}

/* The client's columns come first. */
static void hide_appended(struct client *c)
{
	size_t appended = c->instrumented && c->instrument.plan.rewritten
				  ? c->instrument.plan.table_count
				  : 0;

	if (c->packer.columns.count > appended)
		c->packer.columns.count -= appended;
}

static void take_appended(struct client *c, MYSQL_ROW row)
{
	const unsigned long *lengths = mysql_fetch_lengths(c->result);

	if (!c->instrumented || !c->instrument.plan.rewritten)
		return;
	for (size_t i = 0; i < c->instrument.plan.table_count; i++) {
		size_t at = c->packer.columns.count + i;

		instrument_take_row(&c->instrument, &c->capture, i,
			row[at] ? span_of(row[at], lengths[at]) : SPAN_NONE);
	}
}

void client_tell_columns(struct client *c, MYSQL_RES *metadata, bool *first)
{
	*first = !c->has_rows;
	row_packer_reuse(&c->packer, metadata);
	if (*first)
		hide_appended(c);
	capture_sink.columns(&c->capture, &c->command, c->packer.bad ? NULL : &c->packer.columns);
	if (*first) {
		c->has_rows = true;
		c->rows_bad = c->packer.bad;
	}
}

static void tell_result(struct client *c)
{
	bool first;
	MYSQL_ROW row;

	client_tell_columns(c, c->result, &first);
	while (!c->packer.bad && (row = mysql_fetch_row(c->result)) != NULL) {
		client_tell_row(c, row, mysql_fetch_lengths(c->result), first);
		if (first) {
			take_appended(c, row);
			c->row_count++;
		}
	}
}

static void add_string(struct buf *out, const char *s, size_t len)
{
	/* A length-encoded one; longer ones do not come. */
	if (len < 251) {
		buf_add_char(out, (char)len);
	} else {
		buf_add_char(out, (char)0xfc);
		buf_add_char(out, (char)len);
		buf_add_char(out, (char)(len >> 8));
	}
	buf_add(out, s, len);
}

/* What the answer says of the session, as it was on the wire: the names of commits. */
static void add_track(struct client *c, struct buf *out)
{
	struct buf item = BUF_INIT;
	const char *data, *value;
	size_t len, value_len;

	/* Names and values by turns. */
	if (mysql_session_track_get_first(c->mysql, SESSION_TRACK_SYSTEM_VARIABLES, &data, &len) == 0) {
		do {
			if (mysql_session_track_get_next(c->mysql, SESSION_TRACK_SYSTEM_VARIABLES, &value,
				    &value_len))
				break;
			if (len + value_len > 1000)
				continue;
			buf_clear(&item);
			add_string(&item, data, len);
			add_string(&item, value, value_len);
			buf_add_char(out, TRACK_VARIABLES);
			add_string(out, item.data, item.len);
		} while (mysql_session_track_get_next(
				 c->mysql, SESSION_TRACK_SYSTEM_VARIABLES, &data, &len) == 0);
	}
	if (mysql_session_track_get_first(c->mysql, SESSION_TRACK_GTIDS, &data, &len) == 0 && len < 1000) {
		buf_clear(&item);
		buf_add_char(&item, 0); /* how it is encoded */
		add_string(&item, data, len);
		buf_add_char(out, TRACK_GTIDS);
		add_string(out, item.data, item.len);
	}
	buf_release(&item);
}

/* Ends a result of the statement, or the statement. */
void client_tell_reply(struct client *c, const struct wire_reply *more, bool rows)
{
	struct buf state = BUF_INIT;
	struct wire_reply reply = {
		.kind = rows ? REPLY_EOF : REPLY_OK,
		.last = more->last,
		.has_status = true,
		.status = (uint16_t)c->mysql->server_status,
		.warnings = (uint16_t)mysql_warning_count(c->mysql),
	};

	if (!rows) {
		reply.affected = c->affected = more->affected;
		reply.insert_id = c->insert_id = more->insert_id;
		reply.info = more->info;
		if (c->tracked)
			add_track(c, &state);
		reply.state = buf_span(&state);
	}
	c->command.end_at = clock_mono_ns();
	capture_sink.reply(&c->capture, &c->command, &reply);
	buf_release(&state);
}

static void tell_reply(struct client *c, bool rows)
{
	const char *info = mysql_info(c->mysql);
	struct wire_reply reply = {.last = !mysql_more_results(c->mysql),
		.affected = mysql_affected_rows(c->mysql),
		.insert_id = mysql_insert_id(c->mysql),
		.info = info ? span_str(info) : SPAN_NONE};

	client_tell_reply(c, &reply, rows);
}

static bool is_lost(unsigned error)
{
	return error == LIBRARY_SERVER_GONE || error == LIBRARY_SERVER_LOST ||
	       error == LIBRARY_MALFORMED_PACKET || error == LIBRARY_OUT_OF_SYNC;
}

void client_tell_error(struct client *c, unsigned error, const char *sqlstate, const char *message)
{
	struct wire_reply reply = {.kind = REPLY_ERR, .last = true};

	c->error = error;
	snprintf(c->message, sizeof(c->message), "%s", message);
	c->command.end_at = clock_mono_ns();
	if (is_lost(error)) {
		c->dead = true;
		reply.kind = REPLY_NONE;
		reply.lost = true;
	} else {
		reply.error = (uint16_t)error;
		reply.sqlstate = span_str(sqlstate);
		reply.message = span_str(c->message);
	}
	capture_sink.reply(&c->capture, &c->command, &reply);
	if (error == LIBRARY_SERVER_GONE || error == LIBRARY_SERVER_LOST)
		capture_server_ended(&c->capture, CLOSE_SERVER_CLOSED);
}

static void tell_error(struct client *c)
{
	client_tell_error(
		c, mysql_errno(c->mysql), mysql_sqlstate(c->mysql), mysql_error(c->mysql));
}

/* ---- statements ---- */

void client_begin(struct client *c, uint8_t command, size_t length)
{
	c->command = (struct wire_command){.byte = command,
		.complete = true,
		.active = true,
		.number = c->command.number + 1,
		.length = length + 1,
		.begin = {.at = clock_mono_ns(), .seq = capture_begin_seq(c->capture.worker)}};
	c->error = 0;
	c->message[0] = '\0';
	c->affected = c->row_count = c->insert_id = 0;
	c->has_rows = c->rows_bad = false;
	buf_clear(&c->rows);
}

/* The statement, or what is asked before it. */
static void send_next(struct client *c)
{
	const struct own_query *own =
		c->instrumented ? instrument_next_query(&c->instrument) : NULL;
	const struct buf *sql = own ? &own->sql : &c->sql;

	c->held = false;
	c->state = own ? CLIENT_OWN_QUERY : CLIENT_QUERY;
	c->wait = mysql_real_query_start(&c->status, c->mysql, sql->data, sql->len);
}

void client_send(struct client *c, struct span sql)
{
	struct wire_request request = {0};

	buf_clear(&c->sql);
	buf_add_span(&c->sql, sql);
	client_begin(c, CMD_QUERY, sql.len);
	request.text = buf_span(&c->sql);
	capture_sink.command(&c->capture, &c->command, &request);
	if (c->instrumented) {
		c->ended_before = *c->instrument.ended;
		instrument_begin(&c->instrument, &c->capture, c->command.number, sql);
		if (!send_before(c)) {
			instrument_is_answered(&c->instrument);
			c->state = CLIENT_QUERY;
			c->status = 1;
			c->wait = 0;
			return;
		}
		if (c->instrument.plan.rewritten) {
			buf_clear(&c->sql);
			buf_add_span(&c->sql, buf_span(&c->instrument.plan.text));
		}
	}
	send_next(c);
}

static bool finished(struct client *c)
{
	struct instrument_outcome outcome = {.ok = !c->error,
		.error = c->error,
		.affected = c->affected,
		.affected_known = !c->has_rows,
		.insert_id = c->insert_id,
		.warnings = mysql_warning_count(c->mysql) != 0};

	if (c->instrumented) {
		outcome.alone = c->alone && *c->instrument.ended == c->ended_before;
		instrument_end(&c->instrument, &c->capture, &outcome);
		/* Its rows are committed: soon others may change them.  Asked beside the session,
		 * whose next statement may want to know of this one. */
		if (instrument_wants_rows_now(&c->instrument))
			finish_select(c, c->aside);
	}
	c->state = CLIENT_IDLE;
	c->wait = 0;
	return true;
}

/* The same for a query of our own.  True: its error is the statement's, which is not sent. */
static bool advance_own(struct client *c)
{
	unsigned error = 0;

	if (c->state == CLIENT_OWN_STORE) {
		bool again = c->held && c->result;

		if (!c->result)
			error = mysql_errno(c->mysql);
		else if (!again)
			take_own_rows(c, c->result);
		mysql_free_result(c->result);
		c->result = NULL;
		/* Now that no session does anything. */
		if (again) {
			send_next(c);
			return false;
		}
	} else if (c->status) {
		error = mysql_errno(c->mysql);
	} else if (mysql_field_count(c->mysql)) {
		c->state = CLIENT_OWN_STORE;
		c->wait = mysql_store_result_start(&c->result, c->mysql);
		return false;
	}
	if (instrument_query_end(&c->instrument, &c->capture, error, c->is_alone(c)) ||
		is_lost(error)) {
		tell_error(c);
		return finished(c);
	}
	send_next(c);
	return false;
}

/* The call that was under way has returned: what is next?  True when nothing is. */
static bool advance(struct client *c)
{
	db_check_memory(c->mysql);
	if (c->state >= CLIENT_OWN_QUERY)
		return advance_own(c);
	if (c->state >= CLIENT_PREPARE)
		return prepared_advance(c) && finished(c);
	if (c->state == CLIENT_STORE) {
		if (!c->result) {
			tell_error(c);
			return finished(c);
		}
		tell_result(c);
		mysql_free_result(c->result);
		c->result = NULL;
		tell_reply(c, true);
	} else if (c->status) { /* QUERY, NEXT: an error */
		tell_error(c);
		return finished(c);
	} else if (mysql_field_count(c->mysql)) {
		c->state = CLIENT_STORE;
		c->wait = mysql_store_result_start(&c->result, c->mysql);
		return false;
	} else {
		tell_reply(c, false);
	}
	if (!mysql_more_results(c->mysql))
		return finished(c);
	c->command.set++;
	c->state = CLIENT_NEXT;
	c->wait = mysql_next_result_start(&c->status, c->mysql);
	return false;
}

/* The library's call that is under way goes on. */
static void continue_call(struct client *c, int ready)
{
	switch (c->state) {
	case CLIENT_IDLE:
		break;
	case CLIENT_QUERY:
	case CLIENT_OWN_QUERY:
		c->wait = mysql_real_query_cont(&c->status, c->mysql, ready);
		break;
	case CLIENT_STORE:
	case CLIENT_OWN_STORE:
		c->wait = mysql_store_result_cont(&c->result, c->mysql, ready);
		break;
	case CLIENT_NEXT:
		c->wait = mysql_next_result_cont(&c->status, c->mysql, ready);
		break;
	case CLIENT_PREPARE:
	case CLIENT_EXECUTE:
	case CLIENT_EXECUTE_STORE:
		prepared_continue(c, ready);
		break;
	}
}

bool client_step(struct client *c, int ready)
{
	if (c->wait && !ready)
		return false;
	if (ready && !c->command.first_byte_at)
		c->command.first_byte_at = clock_mono_ns();
	while (c->state != CLIENT_IDLE) {
		if (c->wait) {
			if (!ready)
				return false;
			continue_call(c, ready);
			ready = 0;
			if (c->wait)
				return false;
		}
		if (advance(c))
			return true;
	}
	return true;
}

void client_abandon(struct client *c, const char *reason)
{
	struct wire_reply reply = {.kind = REPLY_NONE, .last = true, .lost = true};

	if (c->state != CLIENT_IDLE) {
		c->command.end_at = clock_mono_ns();
		snprintf(c->message, sizeof(c->message), "%s", reason);
		c->error = LIBRARY_SERVER_LOST;
		capture_sink.reply(&c->capture, &c->command, &reply);
		/* The call that is under way must end before the handle can be freed. */
		shutdown(mysql_get_socket(c->mysql), SHUT_RDWR);
		for (int i = 0; c->wait && i < 100; i++) {
			continue_call(c, MYSQL_WAIT_READ);
		}
	}
	c->state = CLIENT_IDLE;
	c->wait = 0;
	c->dead = true;
}
