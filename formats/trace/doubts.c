/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/doubts.h"

#include "base/hash.h"
#include "trace/msgpack_cursor.h"
#include "trace/record.h"

static uint64_t node_hash(struct span node)
{
	return hash_bytes(node.ptr, node.len);
}

static void doubt_since(struct doubts *doubts, uint64_t node, uint64_t since)
{
	for (unsigned i = 0; i < doubts->count; i++) {
		if (doubts->of[i].node != node)
			continue;
		if (since < doubts->of[i].since)
			doubts->of[i].since = since;
		return;
	}
	if (doubts->count < DOUBTS_MAX) {
		doubts->of[doubts->count].node = node;
		doubts->of[doubts->count++].since = since;
		return;
	}
	if (!doubts->all || since < doubts->all_since)
		doubts->all_since = since;
	doubts->all = true;
}

bool note_is(const struct record_note *note, const char *topic)
{
	return span_eq_str(note->source, "recorder") && span_eq_str(note->topic, topic);
}

void doubts_take(struct doubts *doubts, const struct record_note *note)
{
	struct span node = SPAN_NONE;
	uint64_t since = 0;
	struct mp mp;

	if (!note_is(note, NOTE_LEVELS_DOUBTED))
		return;
	mp = mp_over(note->data);
	for (uint32_t pairs = mp_map(&mp); pairs && !mp.bad; pairs--) {
		struct span name = mp_bytes(&mp);

		if (span_eq_str(name, "since"))
			since = mp_uint(&mp);
		else if (span_eq_str(name, "node"))
			node = mp_bytes(&mp);
		else
			(void)mp_skip(&mp);
	}
	doubt_since(doubts, node_hash(node), since);
}

bool doubts_session(const struct doubts *doubts, struct span node, uint64_t started)
{
	uint64_t hash;

	if (doubts->all && started >= doubts->all_since)
		return true;
	if (!doubts->count)
		return false;
	hash = node_hash(node);
	for (unsigned i = 0; i < doubts->count; i++) {
		if (doubts->of[i].node == hash)
			return started >= doubts->of[i].since;
	}
	return false;
}
