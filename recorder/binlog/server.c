/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binlog/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "db/query.h"
#include "server/flavour.h"
#include "wire/proto.h"

enum {
	COMMAND_REGISTER_REPLICA = 0x15,
	COMMAND_DUMP = 0x12,
	COMMAND_DUMP_GTID = 0x1e,
	DUMP_NOT_WAIT = 1,
	DUMP_ANNOTATE = 2, /* MariaDB: the statements' texts */
	HEARTBEAT_S = 1,
	SILENCE_S = 30, /* with a heartbeat a second, a server that says nothing so long is gone */
	PACKET_MAX = 1 << 30,
	FIRST_POSITION = 4,
};

void binlog_state_release(struct binlog_state *state)
{
	buf_release(&state->executed);
	buf_release(&state->file);
}

/* One value; empty where the server does not know the variable. */
static void ask(MYSQL *db, const char *sql, struct buf *out)
{
	MYSQL_RES *result = NULL;
	MYSQL_ROW row;

	buf_clear(out);
	if (!db_send(db, sql))
		result = db_result(db);
	if (!result)
		return;
	row = mysql_fetch_row(result);
	if (row && row[0])
		buf_add(out, row[0], mysql_fetch_lengths(result)[0]);
	mysql_free_result(result);
}

static bool is_on(MYSQL *db, const char *sql, struct buf *out)
{
	ask(db, sql, out);
	return span_eq_str(buf_span(out), "1") || span_ieq_str(buf_span(out), "on");
}

/* SHOW MASTER STATUS, which MySQL 8.4 took away. */
static bool read_position(MYSQL *db, struct binlog_state *state)
{
	static const char *const statements[] = {"show binary log status", "show master status"};

	for (unsigned i = 0; i < 2; i++) {
		MYSQL_RES *result = db_send(db, statements[i]) ? NULL : db_result(db);
		MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;

		if (row && row[0] && row[1]) {
			buf_clear(&state->file);
			buf_add_str(&state->file, row[0]);
			state->position = strtoull(row[1], NULL, 10);
		}
		if (result)
			mysql_free_result(result);
		if (row)
			return true;
	}
	return false;
}

bool binlog_state_read(MYSQL *db, const char *node, struct binlog_state *state, struct err *err)
{
	struct buf value = BUF_INIT;

	ask(db, "select version()", &value);
	if (!value.len)
		return db_error(db, node, "cannot read its version", err);
	state->mariadb = span_ihas(buf_span(&value), "mariadb");
	state->version = server_release_of(buf_span(&value)).version;
	state->on = is_on(db, "select @@global.log_bin", &value);
	ask(db, "select @@global.binlog_format", &value);
	state->row_format = span_ieq_str(buf_span(&value), "row");
	ask(db, "select @@global.binlog_row_image", &value);
	state->full_image = span_ieq_str(buf_span(&value), "full") ||
			    span_ieq_str(buf_span(&value), "full_nodup");
	ask(db, "select @@global.binlog_row_metadata", &value);
	state->metadata_full = span_ieq_str(buf_span(&value), "full");
	/* MariaDB always writes them in the order of commits. */
	state->ordered =
		state->mariadb || is_on(db, "select @@global.binlog_order_commits", &value);
	if (state->mariadb) {
		state->gtids = true;
		ask(db, "select @@global.gtid_binlog_pos", &state->executed);
	} else {
		ask(db, "select @@global.gtid_mode", &value);
		state->gtids = span_ieq_str(buf_span(&value), "on");
		ask(db, "select replace(@@global.gtid_executed, '\\n', '')", &state->executed);
	}
	if (state->on)
		(void)read_position(db, state);
	buf_release(&value);
	return true;
}

bool binlog_state_check(const struct binlog_state *state, const char *node, struct err *err)
{
	if (!state->on)
		return err_set(err, ERR_UNSUPPORTED,
			"node %s has no binary log: start it with log_bin", node);
	if (!state->row_format)
		return err_set(err, ERR_UNSUPPORTED,
			"node %s: binlog_format is not ROW, so its binary log does not say which "
			"rows changed: "
			"set global binlog_format = ROW, and let the application connect again",
			node);
	if (!state->full_image)
		return err_set(err, ERR_UNSUPPORTED,
			"node %s: binlog_row_image is not FULL, so columns are missing: set global "
			"binlog_row_image = FULL, and let the application connect again",
			node);
	return true;
}

/* ---- MySQL's sets as bytes ---- */

static void add_le(struct buf *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		buf_add_char(out, (char)(value >> (8 * i)));
}

static void put_le(struct buf *out, size_t at, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++)
		out->data[at + i] = (char)(value >> (8 * i));
}

static int hex_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* One UUID with one tag, and its intervals, whose ends are exclusive. */
struct set_part {
	unsigned char uuid[16];
	char tag[40];
	struct buf intervals;
	uint64_t count;
};

static const char *read_uuid(const char *p, unsigned char uuid[16])
{
	for (unsigned i = 0; i < 16; p += 2, i++) {
		if (*p == '-')
			p++;
		if (hex_of(p[0]) < 0 || hex_of(p[1]) < 0)
			return NULL;
		uuid[i] = (unsigned char)(hex_of(p[0]) << 4 | hex_of(p[1]));
	}
	return p;
}

/* "uuid:1-5:7,uuid:tag:1-3": the form of COM_BINLOG_DUMP_GTID, with tags only where there are some.
 */
static bool encode_set(const char *p, struct buf *out)
{
	struct set_part *parts = NULL;
	size_t count = 0, capacity = 0;
	bool tagged = false, good = true;

	while (good && *p) {
		unsigned char uuid[16];
		bool open = false;

		while (*p == ',' || *p == ' ' || *p == '\n')
			p++;
		if (!*p)
			break;
		p = read_uuid(p, uuid);
		good = p != NULL;
		while (good && *p == ':') {
			uint64_t from, to;
			char *end;

			p++;
			if (hex_of(*p) < 0 || (*p > '9' && *p != '\0') || *p == '_' || !open) {
				MEM_RESERVE(parts, count + 1, capacity);
				parts[count] = (struct set_part){.count = 0};
				memcpy(parts[count].uuid, uuid, sizeof(uuid));
				count++;
				open = true;
			}
			if (*p < '0' || *p > '9') { /* a tag */
				size_t len = strcspn(p, ":,");

				good = len < sizeof(parts->tag);
				if (!good)
					break;
				memcpy(parts[count - 1].tag, p, len);
				tagged = true;
				p += len;
				if (*p == ':')
					p++;
			}
			from = to = strtoull(p, &end, 10);
			good = end != p;
			p = end;
			if (*p == '-')
				to = strtoull(p + 1, &end, 10), p = end;
			add_le(&parts[count - 1].intervals, from, 8);
			add_le(&parts[count - 1].intervals, to + 1, 8);
			parts[count - 1].count++;
		}
	}
	add_le(out, 0, 8);
	put_le(out, out->len - 8, tagged ? UINT64_C(1) << 56 | (uint64_t)count << 8 | 1 : count);
	for (size_t i = 0; i < count; i++) {
		buf_add(out, parts[i].uuid, sizeof(parts[i].uuid));
		if (tagged) { /* the length has one bit that says that no byte follows */
			buf_add_char(out, (char)(strlen(parts[i].tag) << 1));
			buf_add_str(out, parts[i].tag);
		}
		add_le(out, parts[i].count, 8);
		buf_add_span(out, buf_span(&parts[i].intervals));
		buf_release(&parts[i].intervals);
	}
	mem_free(parts);
	return good;
}

/* ---- sets as texts ---- */

/* The newest number of each domain is all that MariaDB needs. */
static void add_mariadb(struct buf *list, const char *gtid)
{
	size_t domain = strcspn(gtid, "-") + 1;
	struct buf out = BUF_INIT;

	for (const char *p = list->data ? list->data : ""; *p;) {
		size_t len = strcspn(p, ",");

		if (len < domain || strncmp(p, gtid, domain) != 0) {
			buf_add_str(&out, out.len ? "," : "");
			buf_add(&out, p, len);
		}
		p += len + (p[len] == ',');
	}
	buf_add_str(&out, out.len ? "," : "");
	buf_add_str(&out, gtid);
	buf_release(list);
	*list = out;
}

/* "uuid:[tag:]number" behind the interval of its source that ends right before it, or as one more.
 */
static void add_mysql(struct buf *set, const char *gtid)
{
	const char *colon = strrchr(gtid, ':');
	size_t source = (size_t)(colon - gtid) + 1;
	uint64_t number = strtoull(colon + 1, NULL, 10);
	const char *p = set->data ? set->data : "";
	struct buf out = BUF_INIT;
	bool done = false;

	while (*p) {
		size_t len = strcspn(p, ",");

		buf_add_str(&out, out.len ? "," : "");
		buf_add(&out, p, len);
		/* An untagged source is also the beginning of the same one with tags. */
		if (!done && len > source && !strncmp(p, gtid, source) && p[source] >= '0' &&
			p[source] <= '9' && !memchr(p + source, '_', len - source)) {
			const char *last = out.data + out.len;
			uint64_t end;

			while (last[-1] >= '0' && last[-1] <= '9')
				last--;
			end = strtoull(last, NULL, 10);
			if (end + 1 == number) {
				if (last[-1] == '-') {
					out.len = (size_t)(last - out.data);
					buf_printf(&out, "%" PRIu64, number);
				} else {
					buf_printf(&out, "-%" PRIu64, number);
				}
			} else if (end < number) {
				buf_printf(&out, ":%" PRIu64, number);
			}
			done = true;
		}
		p += len + (p[len] == ',');
	}
	if (!done) {
		buf_add_str(&out, out.len ? "," : "");
		buf_add_str(&out, gtid);
	}
	buf_release(set);
	*set = out;
}

void binlog_gtids_add(struct buf *set, const char *gtid)
{
	if (!*gtid)
		return;
	if (strchr(gtid, ':'))
		add_mysql(set, gtid);
	else
		add_mariadb(set, gtid);
}

/* ---- the connection ---- */

static bool command(struct binlog_stream *stream, unsigned number, struct span argument,
	const char *what, struct err *err)
{
	if (stream->db->methods->db_command(stream->db, (enum enum_server_command)number,
		    argument.ptr, argument.len, 1, NULL))
		return db_error(stream->db, stream->node, what, err);
	return true;
}

static bool set_up(struct binlog_stream *stream, const struct binlog_place *place, struct err *err)
{
	struct buf sql = BUF_INIT;
	bool good = true;

	buf_printf(&sql, "set @master_heartbeat_period = %llu, @source_heartbeat_period = %llu",
		HEARTBEAT_S * 1000000000ull, HEARTBEAT_S * 1000000000ull);
	good = db_execute(stream->db, sql.data, err) &&
	       db_execute(stream->db,
		       "set @master_binlog_checksum = @@global.binlog_checksum, "
		       "@source_binlog_checksum = @@global.binlog_checksum",
		       err);
	if (good && stream->mariadb) {
		buf_clear(&sql);
		/* 4: knows GTIDs. */
		buf_add_str(&sql, "set @mariadb_slave_capability = 4, @slave_gtid_strict_mode = 0, "
				  "@slave_gtid_ignore_duplicates = 0, @slave_connect_state = '");
		buf_add_span(&sql, buf_span(&place->gtids));
		buf_add_char(&sql, '\'');
		good = db_execute(stream->db, sql.data, err);
	}
	buf_release(&sql);
	return good;
}

static bool register_replica(struct binlog_stream *stream, uint32_t server_id, struct err *err)
{
	struct buf data = BUF_INIT;
	bool good;

	add_le(&data, server_id, 4);
	add_le(&data, 0, 3); /* no host, user, password */
	add_le(&data, 0, 2 + 4 + 4);
	good = command(stream, COMMAND_REGISTER_REPLICA, buf_span(&data), "refuses a replica", err);
	/* Its OK. */
	if (good && mysql_net_read_packet(stream->db) == packet_error)
		good = db_error(stream->db, stream->node,
			"refuses a replica; the account needs REPLICATION SLAVE", err);
	buf_release(&data);
	return good;
}

static bool begin_dump(struct binlog_stream *stream, const struct binlog_place *place,
	uint32_t server_id, unsigned how, struct err *err)
{
	struct buf data = BUF_INIT;
	unsigned flags = (how & BINLOG_WAIT ? 0 : DUMP_NOT_WAIT) |
			 (stream->mariadb && how & BINLOG_TEXTS ? DUMP_ANNOTATE : 0);
	bool good = true;

	if (stream->gtids && !stream->mariadb) {
		struct buf set = BUF_INIT;

		good = encode_set(place->gtids.data ? place->gtids.data : "", &set) ||
		       err_set(err, ERR_FORMAT, "not a set of GTIDs: %s", place->gtids.data);
		add_le(&data, flags, 2);
		add_le(&data, server_id, 4);
		add_le(&data, 0, 4); /* no file */
		add_le(&data, FIRST_POSITION, 8);
		add_le(&data, set.len, 4);
		buf_add_span(&data, buf_span(&set));
		buf_release(&set);
	} else {
		add_le(&data, stream->mariadb ? FIRST_POSITION : place->position, 4);
		add_le(&data, flags, 2);
		add_le(&data, server_id, 4);
		if (!stream->mariadb)
			buf_add_span(&data, buf_span(&place->file));
	}
	good = good &&
	       command(stream, stream->gtids && !stream->mariadb ? COMMAND_DUMP_GTID : COMMAND_DUMP,
		       buf_span(&data), "refuses to send its binary log", err);
	buf_release(&data);
	return good;
}

bool binlog_stream_open(struct binlog_stream *stream, const struct db_login *login,
	const char *node, const struct db_address *address, const struct binlog_state *state,
	const struct binlog_place *place, uint32_t server_id, unsigned flags, struct err *err)
{
	struct db_login patient = *login;
	size_t packet_max = PACKET_MAX;

	patient.answer_timeout_s = SILENCE_S;
	*stream = (struct binlog_stream){
		.node = node, .mariadb = state->mariadb, .gtids = state->gtids};
	stream->db = db_connect(&patient, node, address, err);
	if (!stream->db)
		return false;
	(void)mysql_options(stream->db, MYSQL_OPT_MAX_ALLOWED_PACKET, &packet_max);
	if (set_up(stream, place, err) && register_replica(stream, server_id, err) &&
		begin_dump(stream, place, server_id, flags, err))
		return true;
	binlog_stream_close(stream);
	return false;
}

void binlog_stream_close(struct binlog_stream *stream)
{
	if (stream->db)
		mysql_close(stream->db);
	stream->db = NULL;
}

int binlog_stream_fd(const struct binlog_stream *stream)
{
	return (int)mysql_get_socket(stream->db);
}

bool binlog_stream_next(struct binlog_stream *stream, struct span *event, struct err *err)
{
	unsigned long len = mysql_net_read_packet(stream->db);
	const unsigned char *p = stream->db->net.read_pos;

	*event = SPAN_LIT("");
	if (len == packet_error || !len)
		return db_error(stream->db, stream->node, "its binary log", err);
	if (p[0] == 0xfe && len < 9)
		return true;
	if (p[0] != 0)
		return err_set(err, ERR_FORMAT,
			"node %s: a packet of the binary log begins with %u", stream->node, p[0]);
	*event = span_of(p + 1, len - 1);
	return true;
}
