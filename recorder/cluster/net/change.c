/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/net/change.h"

#include <stdlib.h>

#include "base/text.h"

const char *const net_verbs[] = {[NET_CUT] = "cut", [NET_DELAY] = "delay", [NET_LOSS] = "loss", [NET_DUPLICATE] = "duplicate",
	[NET_REORDER] = "reorder", [NET_RATE] = "rate", [NET_HEAL] = "heal", [NET_VERB_COUNT] = NULL};

bool net_verb_named(struct span word, enum net_verb *out)
{
	for (int i = 0; net_verbs[i]; i++)
		if (span_eq_str(word, net_verbs[i])) {
			*out = (enum net_verb)i;
			return true;
		}
	return false;
}

static struct span next_word(struct span *rest)
{
	struct span word;

	while (rest->len && (*rest->ptr == ' ' || *rest->ptr == '\t'))
		*rest = span_of(rest->ptr + 1, rest->len - 1);
	word = span_of(rest->ptr, 0);
	while (rest->len && *rest->ptr != ' ' && *rest->ptr != '\t') {
		word.len++;
		*rest = span_of(rest->ptr + 1, rest->len - 1);
	}
	return word;
}

/* n1,n3 or all. */
static bool take_nodes(struct span text, unsigned nodes, uint16_t *out)
{
	uint64_t number;

	*out = 0;
	if (span_eq_str(text, "all")) {
		*out = (uint16_t)((1u << nodes) - 1);
		return true;
	}
	while (text.len) {
		const char *comma = memchr(text.ptr, ',', text.len);
		size_t len = comma ? (size_t)(comma - text.ptr) : text.len;

		if (len < 2 || *text.ptr != 'n' || !text_number(span_of(text.ptr + 1, len - 1), &number) || !number ||
			number > nodes)
			return false;
		*out |= (uint16_t)(1u << (number - 1));
		len += comma != NULL;
		text = span_of(text.ptr + len, text.len - len);
		if (comma && !text.len)
			return false;
	}
	return *out != 0;
}

static void mean(struct net_change *change, uint16_t from, uint16_t to)
{
	for (unsigned i = 0; i < NET_NODES_MAX; i++)
		if (from >> i & 1)
			change->to[i] |= (uint16_t)(to & ~(1u << i));
}

/* n1>n2: one way; n1-n2: both; n1,n2: between these and the others; all. */
static bool take_links(struct net_change *change, struct span word, unsigned nodes)
{
	uint16_t every = (uint16_t)((1u << nodes) - 1), a, b;
	size_t at = 0;

	while (at < word.len && word.ptr[at] != '>' && word.ptr[at] != '-')
		at++;
	if (!take_nodes(span_of(word.ptr, at), nodes, &a))
		return false;
	change->named = a == every ? 0 : a;
	if (at == word.len) {
		b = a == every ? every : (uint16_t)(every & ~a);
		mean(change, a, b);
		mean(change, b, a);
		return true;
	}
	if (!take_nodes(span_of(word.ptr + at + 1, word.len - at - 1), nodes, &b))
		return false;
	change->named |= b == every ? 0 : b;
	mean(change, a, b);
	if (word.ptr[at] == '-')
		mean(change, b, a);
	return true;
}

/* Digits, a point and digits, times what the unit after them is worth. */
static bool take_quantity(struct span word, const char *const *units, const uint64_t *worth, uint64_t most, uint64_t *out)
{
	double value;
	char text[32], *end;

	if (!word.len || word.len >= sizeof(text) || *word.ptr < '0' || *word.ptr > '9')
		return false;
	memcpy(text, word.ptr, word.len);
	text[word.len] = '\0';
	value = strtod(text, &end);
	for (size_t i = 0; units[i]; i++)
		if (strcmp(end, units[i]) == 0 && value * (double)worth[i] <= (double)most) {
			*out = (uint64_t)(value * (double)worth[i] + 0.5);
			return true;
		}
	return false;
}

static bool take_time(struct span word, uint64_t *out)
{
	static const char *const units[] = {"us", "ms", "s", NULL};
	static const uint64_t worth[] = {1000, 1000000, 1000000000};

	return take_quantity(word, units, worth, 60000000000u, out);
}

static bool take_value(struct net_change *change, struct span word, struct err *err)
{
	static const char *const percent[] = {"%", NULL}, *const rates[] = {"", "K", "M", NULL};
	static const uint64_t percent_worth[] = {10000}, rate_worth[] = {1, 1024, 1024 * 1024};

	switch (change->verb) {
	case NET_CUT:
	case NET_HEAL:
		return true;
	case NET_DELAY:
		return take_time(word, &change->value) || err_set(err, ERR_FORMAT, "a time of up to a minute belongs here: 50ms");
	case NET_LOSS:
	case NET_DUPLICATE:
	case NET_REORDER:
		return take_quantity(word, percent, percent_worth, 1000000, &change->value) ||
		       err_set(err, ERR_FORMAT, "a share belongs here: 5%% or 0.1%%");
	case NET_RATE:
		return (take_quantity(word, rates, rate_worth, 1ull << 40, &change->value) && change->value) ||
		       err_set(err, ERR_FORMAT, "bytes a second belong here: 500K or 2M");
	}
	return false;
}

bool net_change_parse(struct net_change *out, enum net_verb verb, struct span text, unsigned nodes, struct span *wrong, struct err *err)
{
	struct span rest = text;

	*out = (struct net_change){.verb = verb};
	*wrong = next_word(&rest);
	if (!take_links(out, *wrong, nodes))
		return err_set(err, ERR_FORMAT,
			"links belong here: n1 (all of its), n1,n2 (between these and the others), n1-n2, n1>n2 (one way) or all; "
			"there are %u nodes", nodes);
	if (verb == NET_CUT || verb == NET_HEAL) {
		*wrong = next_word(&rest);
		return !wrong->len || err_set(err, ERR_FORMAT, "nothing more belongs here");
	}
	*wrong = next_word(&rest);
	if (!take_value(out, *wrong, err))
		return false;
	*wrong = next_word(&rest);
	if (verb == NET_DELAY && wrong->len) {
		if (!take_time(*wrong, &out->jitter_ns) || out->jitter_ns > out->value)
			return err_set(err, ERR_FORMAT, "by how much the delay varies belongs here, not more than the delay");
		*wrong = next_word(&rest);
	}
	return !wrong->len || err_set(err, ERR_FORMAT, "nothing more belongs here");
}

void net_state_apply(struct net_state *state, const struct net_change *change)
{
	switch (change->verb) {
	case NET_CUT:
		state->cut = true;
		break;
	case NET_DELAY:
		state->delay_ns = change->value;
		state->jitter_ns = change->jitter_ns;
		break;
	case NET_LOSS:
		state->loss = (uint32_t)change->value;
		break;
	case NET_DUPLICATE:
		state->duplicate = (uint32_t)change->value;
		break;
	case NET_REORDER:
		state->reorder = (uint32_t)change->value;
		break;
	case NET_RATE:
		state->rate = change->value;
		break;
	case NET_HEAL:
		*state = (struct net_state){.cut = false};
		break;
	}
}

bool net_state_equal(const struct net_state *a, const struct net_state *b)
{
	return a->cut == b->cut && a->delay_ns == b->delay_ns && a->jitter_ns == b->jitter_ns && a->loss == b->loss &&
	       a->duplicate == b->duplicate && a->reorder == b->reorder && a->rate == b->rate;
}

static void add_share(struct buf *out, const char *what, uint32_t share)
{
	if (share)
		buf_printf(out, "%s%s %g%%", out->len ? ", " : "", what, share / 10000.0);
}

void net_state_print(const struct net_state *state, struct buf *out)
{
	struct buf words = BUF_INIT;

	if (state->cut)
		buf_add_str(&words, "cut");
	if (state->delay_ns) {
		buf_printf(&words, "%sdelay ", words.len ? ", " : "");
		text_add_duration(&words, state->delay_ns);
	}
	if (state->jitter_ns) {
		buf_add_str(&words, " +- ");
		text_add_duration(&words, state->jitter_ns);
	}
	add_share(&words, "loss", state->loss);
	add_share(&words, "duplicate", state->duplicate);
	add_share(&words, "reorder", state->reorder);
	if (state->rate) {
		buf_printf(&words, "%srate ", words.len ? ", " : "");
		text_add_size(&words, state->rate);
		buf_add_str(&words, "/s");
	}
	buf_add_str(out, words.len ? words.data : "up");
	buf_release(&words);
}
