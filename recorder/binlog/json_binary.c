/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MySQL's binary JSON, and the differences of PARTIAL_UPDATE_ROWS.  Format: MySQL, sql-common/
 * json_binary.h and json_diff.h.  MariaDB's JSON is a text and does not come here.
 */
#include "binlog/binlog_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "wire/proto.h"

enum json_type {
	JSON_SMALL_OBJECT = 0,
	JSON_LARGE_OBJECT = 1,
	JSON_SMALL_ARRAY = 2,
	JSON_LARGE_ARRAY = 3,
	JSON_LITERAL = 4,
	JSON_INT16 = 5,
	JSON_UINT16 = 6,
	JSON_INT32 = 7,
	JSON_UINT32 = 8,
	JSON_INT64 = 9,
	JSON_UINT64 = 10,
	JSON_DOUBLE = 11,
	JSON_STRING = 12,
	JSON_OPAQUE = 15,
};

enum json_operation { DIFF_REPLACE = 0, DIFF_INSERT = 1, DIFF_REMOVE = 2 };

enum { DEPTH_MAX = 101, DOUBLE_DIGITS_MAX = 17, DOUBLE_POINT_MAX = 15 };

/* A document that points to one part twice could be larger than any memory. */
struct printer {
	struct buf *out;
	size_t budget; /* values that may still come */
};

/* ---- scalars ---- */

static void print_string(struct buf *out, struct span s)
{
	static const char hex[] = "0123456789abcdef";

	buf_add_char(out, '"');
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		static const char plain[] = "\b\t\n\f\r", named[] = "btnfr";
		const char *found = c ? strchr(plain, c) : NULL;

		if (c == '"' || c == '\\') {
			buf_add_char(out, '\\');
			buf_add_char(out, (char)c);
		} else if (found) {
			buf_add_char(out, '\\');
			buf_add_char(out, named[found - plain]);
		} else if (c < 0x20) {
			buf_add_str(out, "\\u00");
			buf_add_char(out, hex[c >> 4]);
			buf_add_char(out, hex[c & 15]);
		} else {
			buf_add_char(out, (char)c);
		}
	}
	buf_add_char(out, '"');
}

/* The shortest digits that give the number again; with a point, or as d.ddde-5 where the point
 * would be far away (MySQL, my_gcvt()). */
static void print_double(struct buf *out, double value)
{
	char text[40], digits[32];
	int exponent, count = 0, precision = 1;
	const char *p;

	if (!isfinite(value)) {
		buf_add_str(out, "null");
		return;
	}
	do
		(void)snprintf(text, sizeof(text), "%.*e", precision - 1, value);
	while (strtod(text, NULL) != value && precision++ < DOUBLE_DIGITS_MAX);
	for (p = text; *p && *p != 'e'; p++)
		if (*p >= '0' && *p <= '9')
			digits[count++] = *p;
	exponent = *p ? atoi(p + 1) : 0;
	while (count > 1 && digits[count - 1] == '0')
		count--;
	if (signbit(value))
		buf_add_char(out, '-');
	if (exponent + 1 > DOUBLE_POINT_MAX || exponent + 1 < -DOUBLE_POINT_MAX + 1) {
		buf_add_char(out, digits[0]);
		if (count > 1) {
			buf_add_char(out, '.');
			buf_add(out, digits + 1, (size_t)count - 1);
		}
		buf_printf(out, "e%d", exponent);
		return;
	}
	if (exponent < 0) {
		buf_add_str(out, "0.");
		for (int i = -1; i > exponent; i--)
			buf_add_char(out, '0');
		buf_add(out, digits, (size_t)count);
		return;
	}
	for (int i = 0; i < count || i <= exponent; i++) {
		if (i == exponent + 1)
			buf_add_char(out, '.');
		buf_add_char(out, i < count ? digits[i] : '0');
	}
	if (count <= exponent + 1)
		buf_add_str(out, ".0");
}

/* A length of seven bits a byte, the lowest first; the highest bit says that more follow. */
static uint32_t take_length(struct cursor *c)
{
	uint64_t len = 0;

	for (unsigned i = 0; i < 5; i++) {
		unsigned byte = (unsigned)cursor_uint(c, 1);

		len |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			break;
	}
	if (len > UINT32_MAX)
		c->bad = true;
	return (uint32_t)len;
}

static void print_base64(struct buf *out, struct span s)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < s.len; i += 3) {
		uint32_t bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (i + k < s.len ? (unsigned char)s.ptr[i + k] : 0);
		for (size_t k = 0; k < 4; k++)
			buf_add_char(out, i + k > s.len ? '=' : letters[bits >> (18 - 6 * k) & 63]);
	}
}

/* The packed form of times: 24 bits of microseconds, below 17 bits of the clock. */
static void print_time(struct buf *out, unsigned type, int64_t packed)
{
	bool negative = packed < 0;
	uint64_t value = negative ? -(uint64_t)packed : (uint64_t)packed, clock = value >> 24;
	unsigned micros = (unsigned)(value & 0xffffff);

	buf_add_char(out, '"');
	if (type == TYPE_TIME) {
		buf_printf(out, "%s%02u:%02u:%02u.%06u", negative ? "-" : "",
			(unsigned)(clock >> 12 & 1023), (unsigned)(clock >> 6 & 63),
			(unsigned)(clock & 63), micros);
	} else {
		uint64_t day = clock >> 17, month = day >> 5;

		buf_printf(out, "%04u-%02u-%02u", (unsigned)(month / 13), (unsigned)(month % 13),
			(unsigned)(day & 31));
		if (type != TYPE_DATE)
			buf_printf(out, " %02u:%02u:%02u.%06u", (unsigned)(clock >> 12 & 31),
				(unsigned)(clock >> 6 & 63), (unsigned)(clock & 63), micros);
	}
	buf_add_char(out, '"');
}

static bool print_opaque(struct buf *out, struct cursor c)
{
	unsigned type = (unsigned)cursor_uint(&c, 1);
	uint32_t len = take_length(&c);
	struct span s;

	switch (type) {
	case TYPE_NEWDECIMAL: {
		unsigned precision = (unsigned)cursor_uint(&c, 1),
			 scale = (unsigned)cursor_uint(&c, 1);

		return binary_decimal_print(precision, scale, &c, out);
	}
	case TYPE_DATE:
	case TYPE_TIME:
	case TYPE_DATETIME:
	case TYPE_TIMESTAMP:
		if (len != 8)
			return false;
		print_time(out, type, (int64_t)cursor_uint(&c, 8));
		return !c.bad;
	default:
		s = cursor_take(&c, len);
		if (c.bad)
			return false;
		buf_printf(out, "\"base64:type%u:", type);
		print_base64(out, s);
		buf_add_char(out, '"');
		return true;
	}
}

/* ---- objects and arrays ---- */

static bool print_value(struct printer *p, unsigned type, struct span s, unsigned depth);

/* Is a value of this type kept in its entry, in the place of an offset? */
static bool is_inline(unsigned type, bool large)
{
	switch (type) {
	case JSON_LITERAL:
	case JSON_INT16:
	case JSON_UINT16:
		return true;
	case JSON_INT32:
	case JSON_UINT32:
		return large;
	default:
		return false;
	}
}

/* Offsets are from the container's begin. */
static bool print_container(struct printer *p, unsigned type, struct span s, unsigned depth)
{
	bool large = type == JSON_LARGE_OBJECT || type == JSON_LARGE_ARRAY;
	bool object = type == JSON_SMALL_OBJECT || type == JSON_LARGE_OBJECT;
	unsigned size = large ? 4 : 2;
	struct cursor c = cursor_over(s), keys, values;
	uint64_t count = cursor_uint(&c, size), bytes = cursor_uint(&c, size);

	if (c.bad || bytes > s.len || count > s.len)
		return false;
	s.len = bytes;
	c = cursor_over(s);
	(void)cursor_take(&c, 2 * size);
	keys = cursor_over(cursor_take(&c, object ? count * (size + 2) : 0));
	values = cursor_over(cursor_take(&c, count * (size + 1)));
	if (c.bad)
		return false;
	buf_add_char(p->out, object ? '{' : '[');
	for (uint64_t i = 0; i < count; i++) {
		unsigned kind = (unsigned)cursor_uint(&values, 1);
		struct span place = cursor_take(&values, size);

		if (i)
			buf_add_str(p->out, ", ");
		if (object) {
			uint64_t offset = cursor_uint(&keys, size), len = cursor_uint(&keys, 2);

			if (offset > s.len || len > s.len - offset)
				return false;
			print_string(p->out, span_of(s.ptr + offset, len));
			buf_add_str(p->out, ": ");
		}
		if (!is_inline(kind, large)) {
			struct cursor at = cursor_over(place);
			uint64_t offset = cursor_uint(&at, size);

			if (offset >= s.len)
				return false;
			place = span_of(s.ptr + offset, s.len - offset);
		}
		if (!print_value(p, kind, place, depth + 1))
			return false;
	}
	buf_add_char(p->out, object ? '}' : ']');
	return true;
}

static bool print_value(struct printer *p, unsigned type, struct span s, unsigned depth)
{
	struct cursor c = cursor_over(s);
	struct span text;
	uint64_t bits;
	double number;

	if (depth > DEPTH_MAX || !p->budget)
		return false;
	p->budget--;
	switch (type) {
	case JSON_SMALL_OBJECT:
	case JSON_LARGE_OBJECT:
	case JSON_SMALL_ARRAY:
	case JSON_LARGE_ARRAY:
		return print_container(p, type, s, depth);
	case JSON_LITERAL:
		switch (cursor_uint(&c, 1)) {
		case 0:
			buf_add_str(p->out, "null");
			break;
		case 1:
			buf_add_str(p->out, "true");
			break;
		case 2:
			buf_add_str(p->out, "false");
			break;
		default:
			return false;
		}
		return !c.bad;
	case JSON_INT16:
		buf_printf(p->out, "%d", (int)(int16_t)cursor_uint(&c, 2));
		return !c.bad;
	case JSON_UINT16:
		buf_printf(p->out, "%u", (unsigned)cursor_uint(&c, 2));
		return !c.bad;
	case JSON_INT32:
		buf_printf(p->out, "%d", (int)(int32_t)cursor_uint(&c, 4));
		return !c.bad;
	case JSON_UINT32:
		buf_printf(p->out, "%u", (unsigned)cursor_uint(&c, 4));
		return !c.bad;
	case JSON_INT64:
		buf_printf(p->out, "%lld", (long long)cursor_uint(&c, 8));
		return !c.bad;
	case JSON_UINT64:
		buf_printf(p->out, "%llu", (unsigned long long)cursor_uint(&c, 8));
		return !c.bad;
	case JSON_DOUBLE:
		bits = cursor_uint(&c, 8);
		memcpy(&number, &bits, sizeof(number));
		print_double(p->out, number);
		return !c.bad;
	case JSON_STRING:
		text = cursor_take(&c, take_length(&c));
		/* A string may be told twice, too: what it adds counts. */
		if (c.bad || text.len > p->budget)
			return false;
		p->budget -= text.len;
		print_string(p->out, text);
		return true;
	case JSON_OPAQUE:
		return print_opaque(p->out, c);
	default:
		return false;
	}
}

bool json_binary_print(struct span binary, struct buf *out)
{
	/* Each value of a sound document has a byte of its own at least. */
	struct printer p = {out, 2 * binary.len + 16};
	struct cursor c = cursor_over(binary);
	unsigned type;

	/* What ALTER TABLE leaves in rows of before. */
	if (!binary.len) {
		buf_add_str(out, "null");
		return true;
	}
	type = (unsigned)cursor_uint(&c, 1);
	return print_value(&p, type, cursor_rest(&c), 1);
}

/* ---- differences ---- */

/* A printed document as a tree: scalars are their texts, and so are the keys, in their quotes. */
struct node {
	char kind; /* '{', '[' or 0 */
	struct span key, text;
	struct node **list;
	size_t count, capacity;
};

struct tree {
	struct arena arena;
	const char *p, *end;
	bool bad;
};

static void skip_blanks(struct tree *t)
{
	while (t->p < t->end && *t->p == ' ')
		t->p++;
}

static bool tree_eat(struct tree *t, char c)
{
	skip_blanks(t);
	if (t->p >= t->end || *t->p != c)
		return false;
	t->p++;
	return true;
}

static struct span take_quoted(struct tree *t)
{
	const char *start = t->p;

	t->p++;
	while (t->p < t->end && *t->p != '"')
		t->p += *t->p == '\\' ? 2 : 1;
	if (t->p >= t->end) {
		t->bad = true;
		return SPAN_LIT("");
	}
	t->p++;
	return span_of(start, (size_t)(t->p - start));
}

static void node_insert(struct tree *t, struct node *in, size_t at, struct node *child)
{
	if (in->count == in->capacity) {
		size_t capacity = in->capacity ? 2 * in->capacity : 4;
		struct node **list = arena_alloc(&t->arena, capacity * sizeof(struct node *));

		if (in->count)
			memcpy(list, in->list, in->count * sizeof(struct node *));
		in->list = list;
		in->capacity = capacity;
	}
	memmove(in->list + at + 1, in->list + at, (in->count - at) * sizeof(struct node *));
	in->list[at] = child;
	in->count++;
}

static struct node *parse_node(struct tree *t, unsigned depth)
{
	struct node *node = arena_zero(&t->arena, sizeof(*node));
	const char *start;

	skip_blanks(t);
	if (t->p >= t->end || depth > DEPTH_MAX) {
		t->bad = true;
		return node;
	}
	if (*t->p == '"') {
		node->text = take_quoted(t);
		return node;
	}
	if (*t->p != '{' && *t->p != '[') {
		for (start = t->p; t->p < t->end && !strchr(",]} ", *t->p); t->p++)
			;
		node->text = span_of(start, (size_t)(t->p - start));
		t->bad |= !node->text.len;
		return node;
	}
	node->kind = *t->p++;
	if (tree_eat(t, node->kind == '{' ? '}' : ']'))
		return node;
	do {
		struct span key = SPAN_NONE;
		struct node *child;

		if (node->kind == '{') {
			skip_blanks(t);
			if (t->p >= t->end || *t->p != '"') {
				t->bad = true;
				return node;
			}
			key = take_quoted(t);
			t->bad |= !tree_eat(t, ':');
		}
		child = parse_node(t, depth + 1);
		child->key = key;
		node_insert(t, node, node->count, child);
	} while (!t->bad && tree_eat(t, ','));
	t->bad |= !tree_eat(t, node->kind == '{' ? '}' : ']');
	return node;
}

static struct node *parse_text(struct tree *t, struct span text)
{
	struct node *node;

	t->p = text.ptr;
	t->end = text.ptr + text.len;
	node = parse_node(t, 1);
	skip_blanks(t);
	t->bad |= t->p != t->end;
	return node;
}

static void print_node(const struct node *node, struct buf *out)
{
	if (!node->kind) {
		buf_add_span(out, node->text);
		return;
	}
	buf_add_char(out, node->kind);
	for (size_t i = 0; i < node->count; i++) {
		if (i)
			buf_add_str(out, ", ");
		if (node->kind == '{') {
			buf_add_span(out, node->list[i]->key);
			buf_add_str(out, ": ");
		}
		print_node(node->list[i], out);
	}
	buf_add_char(out, node->kind == '{' ? '}' : ']');
}

/* Bytes of the text that a key in quotes stands for: servers order keys by that, then by the bytes.
 */
static size_t plain_length(struct span key)
{
	size_t len = 0;

	for (size_t i = 1; i + 1 < key.len; i++, len++)
		if (key.ptr[i] == '\\')
			i += key.ptr[i + 1] == 'u' ? 5 : 1;
	return len;
}

static int key_cmp(struct span a, struct span b)
{
	size_t x = plain_length(a), y = plain_length(b);

	return x != y ? (x < y ? -1 : 1) : span_cmp(a, b);
}

/* One step of a path: a member or a cell. */
struct step {
	bool cell;
	struct span key;
	uint64_t index;
};

/* False at the path's end, and with t->bad where it makes no sense. */
static bool take_step(struct tree *t, struct step *step)
{
	if (t->p >= t->end)
		return false;
	*step = (struct step){.cell = *t->p == '['};
	if (*t->p == '[') {
		for (t->p++;
			t->p < t->end && *t->p >= '0' && *t->p <= '9' && step->index < UINT32_MAX;
			t->p++)
			step->index = step->index * 10 + (uint64_t)(*t->p - '0');
		t->bad |= t->p >= t->end || *t->p != ']';
		t->p++;
		return !t->bad;
	}
	if (*t->p != '.' || t->end - t->p < 2) {
		t->bad = true;
		return false;
	}
	t->p++;
	if (*t->p == '"') {
		step->key = take_quoted(t);
	} else {
		const char *start = t->p;
		struct span name;

		while (t->p < t->end && *t->p != '.' && *t->p != '[')
			t->p++;
		name = span_of(start, (size_t)(t->p - start));
		step->key = span_str(arena_printf(&t->arena, "\"%.*s\"", SPAN_ARG(name)));
	}
	return !t->bad;
}

/* Where the step leads; count of the node's children where it leads nowhere. */
static size_t find_child(const struct node *node, const struct step *step)
{
	if (step->cell)
		return node->kind == '[' && step->index < node->count ? (size_t)step->index
								      : node->count;
	for (size_t i = 0; node->kind == '{' && i < node->count; i++)
		if (span_eq(node->list[i]->key, step->key))
			return i;
	return node->count;
}

static size_t insert_place(const struct node *node, const struct step *step)
{
	size_t at = 0;

	if (step->cell)
		return step->index < node->count ? (size_t)step->index : node->count;
	while (at < node->count && key_cmp(node->list[at]->key, step->key) < 0)
		at++;
	return at;
}

static bool apply(struct tree *t, struct node **root, unsigned operation, struct span path,
	struct node *value)
{
	struct node *at = *root;
	struct step step, next;

	t->p = path.ptr;
	t->end = path.ptr + path.len;
	if (!tree_eat(t, '$'))
		return false;
	if (!take_step(t, &step)) {
		if (t->bad || operation != DIFF_REPLACE)
			return false;
		*root = value;
		return true;
	}
	while (take_step(t, &next)) {
		size_t i = find_child(at, &step);

		if (i == at->count)
			return false;
		at = at->list[i];
		step = next;
	}
	if (t->bad || at->kind != (step.cell ? '[' : '{'))
		return false;
	if (operation == DIFF_INSERT) {
		value->key = step.key;
		node_insert(t, at, insert_place(at, &step), value);
	} else {
		size_t i = find_child(at, &step);

		if (i == at->count)
			return false;
		if (operation == DIFF_REMOVE) {
			memmove(at->list + i, at->list + i + 1,
				(--at->count - i) * sizeof(struct node *));
		} else {
			value->key = at->list[i]->key;
			at->list[i] = value;
		}
	}
	return true;
}

bool json_binary_patch(struct span before_text, struct span diffs, struct buf *out)
{
	struct tree t = {.arena = ARENA_INIT};
	struct node *root = parse_text(&t, before_text);
	struct cursor c = cursor_over(diffs);
	bool good = !t.bad;

	while (good && cursor_left(&c)) {
		unsigned operation = (unsigned)cursor_uint(&c, 1);
		struct span path = cursor_lenenc_str(&c);
		struct node *value = NULL;

		if (operation > DIFF_REMOVE || c.bad) {
			good = false;
			break;
		}
		if (operation != DIFF_REMOVE) {
			struct buf text = BUF_INIT;

			good = json_binary_print(cursor_lenenc_str(&c), &text) && !c.bad;
			if (good)
				value = parse_text(&t, arena_copy(&t.arena, buf_span(&text)));
			buf_release(&text);
		}
		good = good && !t.bad && apply(&t, &root, operation, path, value);
	}
	if (good)
		print_node(root, out);
	arena_release(&t.arena);
	return good;
}
