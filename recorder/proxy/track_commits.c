/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proxy/track_commits.h"

#include "wire/proto.h"

bool track_begins_reset(struct span bytes)
{
	const unsigned char *p = (const unsigned char *)bytes.ptr;

	return bytes.len > PROTO_HEAD_SIZE && p[3] == 0 &&
	       (p[PROTO_HEAD_SIZE] == CMD_RESET_CONNECTION || p[PROTO_HEAD_SIZE] == CMD_CHANGE_USER);
}

bool track_send(struct session *s)
{
	struct buf packet = BUF_INIT, payload = BUF_INIT;
	bool sent;

	if (!s->track_due || s->track_sent || !s->recording || s->parsed || s->capture.muted ||
		s->wire.phase != WIRE_COMMANDS || s->wire.count || !frame_idle(&s->wire.client))
		return true;
	buf_add_char(&payload, CMD_QUERY);
	if (s->wire.caps & CAP_QUERY_ATTRIBUTES) {
		buf_add_char(&payload, 0); /* parameters */
		buf_add_char(&payload, 1); /* sets of them */
	}
	buf_add_str(&payload, s->worker->options->track_sql);
	for (unsigned i = 0; i < 3; i++)
		buf_add_char(&packet, (char)(payload.len >> (8 * i)));
	buf_add_char(&packet, 0);
	buf_add_span(&packet, buf_span(&payload));
	s->track_due = false;
	s->track_sent = true;
	sent = session_forward(s, SERVER, (const unsigned char *)packet.data, packet.len, false);
	buf_release(&packet);
	buf_release(&payload);
	return sent;
}

/* Of a packet of which this much is here. */
static size_t whole_size(const struct buf *packet)
{
	const unsigned char *p = (const unsigned char *)packet->data;

	if (packet->len < PROTO_HEAD_SIZE)
		return PROTO_HEAD_SIZE;
	return PROTO_HEAD_SIZE + (p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16);
}

size_t track_take_answer(struct session *s, struct span bytes)
{
	struct buf *answer = &s->track_answer;
	size_t need = whole_size(answer), used = 0;

	if (!s->track_sent)
		return 0;
	while (answer->len < need && used < bytes.len) {
		buf_add_char(answer, bytes.ptr[used++]);
		need = whole_size(answer);
	}
	if (answer->len < need)
		return used;
	s->track_sent = false;
	if (need > PROTO_HEAD_SIZE && (unsigned char)answer->data[PROTO_HEAD_SIZE] != 0) {
		session_event(s, "commits untold", "the server refuses to tell the names of commits");
		COUNT(s->worker, untracked, 1);
	}
	buf_release(answer);
	return used;
}
