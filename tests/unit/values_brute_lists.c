/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The twin's lists: every order of appends that has all reads as prefixes. */
#include <string.h>

#include "values_brute_internal.h"

static bool is_live(const struct hist *h, int key, int value)
{
	bool live = false;

	for (int t = 0; t < h->n; t++)
		live |= h->counts[t] && brute_wrote(h, t, key, value);
	return live;
}

/* Appends of the value; only by those not taken back, or all. */
static int appends(const struct hist *h, int key, int value, bool all)
{
	int count = 0;

	for (int t = 0; t < h->n; t++) {
		for (int k = 0; (all || h->t[t].outcome != 1) && k < h->t[t].count; k++)
			count += h->t[t].ops[k].kind == W && h->t[t].ops[k].key == key &&
				 h->t[t].ops[k].value == value;
	}
	return count;
}

/* How often the element at `e` occurs up to there. */
static int times(const struct op *o, int e)
{
	int count = 0;

	for (int i = 0; i <= e; i++)
		count += o->list[i] == o->list[e];
	return count;
}

static bool is_list_read(const struct hist *h, int t, int k, int key)
{
	const struct op *o = &h->t[t].ops[k];

	return (o->kind == R || o->kind == EVIDENCE) && o->key == key && h->t[t].outcome == 0 &&
	       k < h->t[t].count;
}

/* How far the reads of a key agree with each other, and with what was appended. */
int brute_agreed(const struct hist *h, int key)
{
	int end = LIST;

	for (int a = 0; a < TXNS * OPS; a++) {
		const struct op *x = &h->t[a / OPS].ops[a % OPS];

		if (a / OPS >= h->n || !is_list_read(h, a / OPS, a % OPS, key))
			continue;
		for (int e = 0; e < x->len && e < end; e++) {
			if (times(x, e) > 1 && times(x, e) > appends(h, key, x->list[e], false))
				end = e;
		}
		for (int b = 0; b < a; b++) {
			const struct op *y = &h->t[b / OPS].ops[b % OPS];
			int common = 0;

			if (!is_list_read(h, b / OPS, b % OPS, key))
				continue;
			while (common < x->len && common < y->len &&
				x->list[common] == y->list[common])
				common++;
			if (common < x->len && common < y->len && common < end)
				end = common;
		}
	}
	return end;
}

/* Elements of a read that a transaction which counts appended, up to the agreed end. */
static int live_elements(const struct search *s, const struct op *o, int *out)
{
	int count = 0;

	for (int e = 0; e < o->len && e < s->agreed[o->key]; e++) {
		if (is_live(s->h, o->key, o->list[e]))
			out[count++] = o->list[e];
	}
	return count;
}

static int append_value(const struct hist *h, int what)
{
	return h->t[what / OPS].ops[what % OPS].value;
}

/* How many of the transaction's own appends the list ends in: all that it made before, or none. */
static int own_tail(const struct hist *h, int t, int k)
{
	const struct op *o = &h->t[t].ops[k];
	int own = 0, owned[OPS];

	for (int q = 0; q < k; q++) {
		if (h->t[t].ops[q].kind == W && h->t[t].ops[q].key == o->key)
			owned[own++] = h->t[t].ops[q].value;
	}
	return o->len >= own &&
			       memcmp(o->list + o->len - own, owned, (size_t)own * sizeof(int)) == 0
		       ? own
		       : 0;
}

static void guarantees_of_lists(struct search *s)
{
	const struct hist *h = s->h;
	struct happening all[2 * TXNS * OPS];
	int count = 0;
	bool bad[SG_COUNT] = {false};

	for (int at = 0; at < h->n * OPS; at++) {
		const struct op *o = &h->t[at / OPS].ops[at % OPS];
		int place = LIST;

		if (!h->counts[at / OPS] || at % OPS >= h->t[at / OPS].count || o->kind > W)
			continue;
		if (o->kind == R) {
			/* The last of others. */
			for (place = o->len - 1;
				place >= 0 && brute_wrote(h, at / OPS, o->key, o->list[place]);)
				place--;
			if (h->t[at / OPS].outcome == 0 && o->len <= s->agreed[o->key])
				all[count++] = (struct happening){
					at / OPS, at % OPS, o->key, place, place, false};
			continue;
		}
		for (int r = 0; r < h->n * OPS; r++) {
			const struct op *x = &h->t[r / OPS].ops[r % OPS];

			for (int e = 0; is_list_read(h, r / OPS, r % OPS, o->key) && e < x->len &&
					e < s->agreed[o->key];
				e++) {
				if (x->list[e] == o->value)
					place = e;
			}
		}
		all[count++] = (struct happening){at / OPS, at % OPS, o->key, place, place, true};
	}
	brute_judge_session(s, all, count, bad);
	for (int g = 0; g < SG_COUNT; g++)
		s->out->sg[g] |= !bad[g];
}

/* What is wrong with a read whatever the order is. */
static bool bad_read(const struct search *s, int t, int k)
{
	const struct op *o = &s->h->t[t].ops[k];
	bool bad = o->len > s->agreed[o->key];

	for (int e = 0; e < o->len; e++)
		bad |= !is_live(s->h, o->key, o->list[e]);
	return bad;
}

/* One read against one order: its version, and whether PL-2 forbids it. */
static bool judge_list_read(struct search *s, int t, int k)
{
	const struct hist *h = s->h;
	const struct op *o = &h->t[t].ops[k];
	int seen[LIST], len = live_elements(s, o, seen), last;
	bool g1 = bad_read(s, t, k);

	for (int e = 0; e < len; e++)
		g1 |= s->order[o->key][e] / OPS == t && s->order[o->key][e] % OPS > k;
	last = len - own_tail(h, t, k);
	if (last < 0)
		last = 0;
	if (last > 0) {
		int what = s->order[o->key][last - 1];

		g1 |= what / OPS != t && what % OPS != brute_final_op(h, what / OPS, o->key);
		brute_dep(s, WR, what / OPS, t, o->key, k);
	}
	if (last < s->order_len[o->key])
		brute_dep(s, RW, t, s->order[o->key][last] / OPS, o->key, k);
	return g1;
}

static void judge_lists(struct search *s)
{
	const struct hist *h = s->h;
	bool g1 = false;

	s->dep_count = 0;
	for (int key = 0; key < KEYS; key++) {
		for (int i = 0; i + 1 < s->order_len[key]; i++)
			brute_dep(s, WW, s->order[key][i] / OPS, s->order[key][i + 1] / OPS, key,
				s->order[key][i + 1] % OPS);
	}
	for (int t = 0; t < h->n; t++) {
		for (int k = 0; k < h->t[t].count; k++) {
			if (h->counts[t] && h->t[t].ops[k].kind == R && h->t[t].outcome == 0)
				g1 |= judge_list_read(s, t, k);
		}
	}
	brute_judge_graph(s, g1);
	guarantees_of_lists(s);
}

/* Does every read of the key have this value at this place, as far as all agree? */
static bool fits(const struct search *s, int key, int at, int value)
{
	for (int u = 0; u < s->h->n; u++) {
		for (int q = 0; q < s->h->t[u].count; q++) {
			int seen[LIST];

			if (is_list_read(s->h, u, q, key) &&
				live_elements(s, &s->h->t[u].ops[q], seen) > at &&
				seen[at] != value)
				return false;
		}
	}
	return true;
}

static bool too_long(const struct search *s, int key)
{
	for (int u = 0; u < s->h->n; u++) {
		for (int q = 0; q < s->h->t[u].count; q++) {
			int seen[LIST];

			if (is_list_read(s->h, u, q, key) &&
				live_elements(s, &s->h->t[u].ops[q], seen) > s->order_len[key])
				return true;
		}
	}
	return false;
}

static bool is_unread(const struct search *s, int key, int at)
{
	for (int u = 0; u < s->h->n; u++) {
		for (int q = 0; q < s->h->t[u].count; q++) {
			int seen[LIST];

			if (is_list_read(s->h, u, q, key) &&
				live_elements(s, &s->h->t[u].ops[q], seen) > at)
				return false;
		}
	}
	return true;
}

/* Is an earlier append of the same transaction not there yet? */
static bool skips_own(const struct search *s, int key, int what)
{
	for (int k = 0; k < what % OPS; k++) {
		const struct op *w = &s->h->t[what / OPS].ops[k];

		if (w->kind == W && w->key == key &&
			brute_place_of(s, key, what - what % OPS + k) < 0)
			return true;
	}
	return false;
}

/* Is an earlier append of the same element by the same transaction not there yet?  The two cannot
 * be told apart. */
static bool skips_equal(const struct search *s, int key, int what)
{
	for (int k = 0; k < what % OPS; k++) {
		const struct op *w = &s->h->t[what / OPS].ops[k];

		if (w->kind == W && w->key == key && w->value == append_value(s->h, what) &&
			brute_place_of(s, key, what - what % OPS + k) < 0)
			return true;
	}
	return false;
}

/* Every order of the appends that has all reads as prefixes; a transaction's own are in its order
 * unless reads show otherwise, and equal ones always. */
void brute_list_orders(struct search *s, int key)
{
	const struct hist *h = s->h;
	bool complete = true;

	if (key == KEYS) {
		judge_lists(s);
		return;
	}
	for (int what = 0; what < h->n * OPS; what++) {
		const struct op *w = &h->t[what / OPS].ops[what % OPS];

		if (!h->counts[what / OPS] || what % OPS >= h->t[what / OPS].count ||
			w->kind != W || w->key != key || brute_place_of(s, key, what) >= 0)
			continue;
		complete = false;
		if (!fits(s, key, s->order_len[key], append_value(h, what)) ||
			skips_equal(s, key, what) ||
			(is_unread(s, key, s->order_len[key]) && skips_own(s, key, what)))
			continue;
		s->order[key][s->order_len[key]++] = what;
		brute_list_orders(s, key);
		s->order_len[key]--;
	}
	if (complete && !too_long(s, key))
		brute_list_orders(s, key + 1);
}

/* One element more often in a read than it was appended is against every level. */
bool brute_repeats(const struct hist *h)
{
	for (int at = 0; at < h->n * OPS; at++) {
		const struct op *o = &h->t[at / OPS].ops[at % OPS];

		for (int e = 0; is_list_read(h, at / OPS, at % OPS, o->key) && e < o->len; e++) {
			if (times(o, e) > 1 && times(o, e) > appends(h, o->key, o->list[e], true))
				return true;
		}
	}
	return false;
}
