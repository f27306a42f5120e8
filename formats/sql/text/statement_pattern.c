/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sql/text/statement_pattern.h"

#include "base/attr.h"
#include "base/chars.h"
#include "sql/text/raw_token.h"

enum { DEPTH_MAX = 64, TAG_MAX = 200 };

struct pattern {
	struct buf *out;
	size_t begin;             /* of the pattern in `out` */
	size_t opened[DEPTH_MAX]; /* where brackets were opened */
	uint32_t depth;
	size_t group_begin, group_end; /* of the last brackets that were closed */
	bool blank;               /* between the last token and this one */
};

static bool ends_with(const struct pattern *p, const char *tail)
{
	size_t len = strlen(tail);

	return p->out->len - p->begin >= len && memcmp(p->out->data + p->out->len - len, tail, len) == 0;
}

static void cut(struct pattern *p, size_t len)
{
	p->out->len = len;
	p->out->data[len] = '\0';
}

/* `?, ?, ?` is `?, ...`. */
static void add_value(struct pattern *p)
{
	if (ends_with(p, "?.") && !p->blank)
		cut(p, p->out->len - 1); /* 1.50 */
	else if (ends_with(p, "?, ..., "))
		cut(p, p->out->len - 2);
	else if (ends_with(p, "?, "))
		buf_add_str(p->out, "...");
	else
		buf_add_char(p->out, '?');
}

static void close_bracket(struct pattern *p)
{
	size_t begin, end;

	if (ends_with(p, "IN (?") || ends_with(p, "in (?"))
		buf_add_str(p->out, ", ...");
	buf_add_char(p->out, ')');
	if (p->depth == 0 || p->depth-- > DEPTH_MAX)
		return;
	begin = p->opened[p->depth];
	end = p->out->len;
	/* Rows of VALUES: (?, ...), (?, ...) is (?, ...), ... */
	if (p->group_end && begin > p->group_end && end - begin == p->group_end - p->group_begin &&
		memcmp(p->out->data + begin, p->out->data + p->group_begin, end - begin) == 0) {
		struct span between = span_of(p->out->data + p->group_end, begin - p->group_end);

		if (span_eq_str(between, ", ") || span_eq_str(between, ", ..., ")) {
			cut(p, p->group_end);
			buf_add_str(p->out, ", ...");
			return;
		}
	}
	p->group_begin = begin;
	p->group_end = end;
}

static bool is_plain_name(struct span name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!char_is_name(name.ptr[i]))
			return false;
	return name.len > 0;
}

static void add_name(struct pattern *p, struct span quoted)
{
	struct span inside = span_of(quoted.ptr + 1, quoted.len >= 2 ? quoted.len - 2 : 0);

	buf_add_span(p->out, is_plain_name(inside) ? inside : quoted);
}

/* Is a minus in front of a value its sign? */
static bool is_sign_place(const struct pattern *p)
{
	return p->out->len == p->begin || ends_with(p, "= ") || ends_with(p, "(") || ends_with(p, ", ") ||
	       ends_with(p, "< ") || ends_with(p, "> ");
}

static void add_other(struct pattern *p, char c)
{
	switch (c) {
	case ',':
		buf_add_str(p->out, ", ");
		break;
	case '=':
		buf_add_str(p->out, ends_with(p, " ") || ends_with(p, "<") || ends_with(p, ">") || ends_with(p, "!") ||
						    ends_with(p, ":")
					    ? "= "
					    : " = ");
		break;
	case '(':
		if (p->depth < DEPTH_MAX)
			p->opened[p->depth] = p->out->len;
		p->depth++;
		buf_add_char(p->out, '(');
		break;
	case ')':
		close_bracket(p);
		break;
	default:
		buf_add_char(p->out, c);
	}
}

static void add_blank(struct pattern *p, const struct raw_token *token)
{
	if (!p->blank || p->out->len == p->begin || ends_with(p, " ") || ends_with(p, "(") || ends_with(p, "."))
		return;
	if (raw_is_char(token, ',') || raw_is_char(token, ')') || raw_is_char(token, '.') || raw_is_char(token, '='))
		return;
	buf_add_char(p->out, ' ');
}

void statement_pattern(struct buf *out, struct span text, struct text_dialect dialect)
{
	struct raw_scan scan = raw_scan_over(text, dialect);
	struct pattern p = {.out = out, .begin = out->len};
	const char *last = text.ptr;
	bool sign = false;

	for (struct raw_token token = raw_next(&scan); token.kind != RAW_END; token = raw_next(&scan)) {
		p.blank = token.text.ptr > last;
		last = token.text.ptr + token.text.len;
		if (raw_is_char(&token, ';'))
			continue;
		add_blank(&p, &token);
		if (sign && token.kind == RAW_NUMBER)
			cut(&p, p.out->len - 1 - (ends_with(&p, " ") ? 1 : 0));
		sign = raw_is_char(&token, '-') && is_sign_place(&p);
		switch (token.kind) {
		case RAW_STRING:
		case RAW_NUMBER:
			add_value(&p);
			break;
		case RAW_QUOTED:
			add_name(&p, token.text);
			break;
		case RAW_WORD:
			buf_add_span(out, token.text);
			break;
		case RAW_OTHER:
			if (token.text.ptr[0] == '?')
				add_value(&p);
			else
				add_other(&p, token.text.ptr[0]);
			break;
		case RAW_END:
			break;
		}
	}
	while (ends_with(&p, " "))
		cut(&p, out->len - 1);
}

/* ---- tags ---- */

/* Tags of sqlcommenter that differ with each call. */
static bool is_of_one_call(struct span key)
{
	static const char *const keys[] = {"traceparent", "tracestate", "request_id", "requestid", "trace_id", "span_id", "pid"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (span_ieq_str(key, keys[i]))
			return true;
	return false;
}

static struct span trim(struct span s)
{
	while (s.len && (char_is_blank(s.ptr[0]) || s.ptr[0] == '*'))
		s = span_of(s.ptr + 1, s.len - 1);
	while (s.len && (char_is_blank(s.ptr[s.len - 1]) || s.ptr[s.len - 1] == '*'))
		s.len--;
	return s;
}

/* Percent signs as in addresses; long numbers are of one call. */
static void add_words(struct buf *out, struct span s)
{
	enum { DIGITS_KEPT = 3 };

	for (size_t i = 0; i < s.len && out->len < TAG_MAX; i++) {
		size_t digits = 0;

		while (i + digits < s.len && s.ptr[i + digits] >= '0' && s.ptr[i + digits] <= '9')
			digits++;
		if (digits > DIGITS_KEPT) {
			buf_add_char(out, '?');
			i += digits - 1;
		} else if (s.ptr[i] == '%' && i + 2 < s.len && char_hex_value(s.ptr[i + 1]) >= 0 && char_hex_value(s.ptr[i + 2]) >= 0) {
			char c = (char)(char_hex_value(s.ptr[i + 1]) * 16 + char_hex_value(s.ptr[i + 2]));

			buf_add_char(out, (unsigned char)c >= ' ' ? c : '?');
			i += 2;
		} else {
			buf_add_char(out, (unsigned char)s.ptr[i] >= ' ' ? s.ptr[i] : ' ');
		}
	}
}

/* key='value',key='value'.  False: it is no such list. */
static bool add_pairs(struct buf *out, struct span s)
{
	size_t begin = out->len;

	while (s.len) {
		const char *equals = memchr(s.ptr, '=', s.len), *quote;
		struct span key;

		if (!equals || equals + 1 >= s.ptr + s.len || equals[1] != '\'')
			break;
		quote = memchr(equals + 2, '\'', (size_t)(s.ptr + s.len - equals - 2));
		if (!quote)
			break;
		key = trim(span_of(s.ptr, (size_t)(equals - s.ptr)));
		if (!is_of_one_call(key)) {
			buf_add_str(out, out->len > begin ? ", " : "");
			add_words(out, key);
			buf_add_char(out, '=');
			add_words(out, span_of(equals + 2, (size_t)(quote - equals - 2)));
		}
		s = trim(span_of(quote + 1, (size_t)(s.ptr + s.len - quote - 1)));
		if (!s.len)
			return true;
		if (s.ptr[0] != ',')
			break;
		s = trim(span_of(s.ptr + 1, s.len - 1));
	}
	out->len = begin;
	if (out->data)
		out->data[begin] = '\0';
	return false;
}

/* The inside of a comment. */
static struct span inside_of(struct span comment)
{
	if (comment.len >= 4 && comment.ptr[0] == '/')
		return trim(span_of(comment.ptr + 2, comment.len - 4));
	return trim(span_of(comment.ptr + (comment.ptr[0] == '#' ? 1 : 2), comment.len - (comment.ptr[0] == '#' ? 1 : 2)));
}

/* The next comment at or after *at that is not part of the statement: what is in it.  SPAN_NONE: there is none. */
static struct span next_comment(struct span text, size_t *at)
{
	while (*at < text.len) {
		size_t begin = *at, len;
		struct span inside;
		bool open;

		if (raw_is_quote(text.ptr[begin])) {
			len = raw_quoted(text, begin);
			*at += len ? len : text.len - begin;
			continue;
		}
		len = raw_comment(text, begin, &open);
		*at += len ? len : 1;
		if (!len)
			continue;
		inside = inside_of(span_of(text.ptr + begin, len));
		/* Hints to the optimizer are part of the statement. */
		if (!raw_comment_is_executed(text, begin) && inside.len && inside.ptr[0] != '+')
			return inside;
	}
	return SPAN_NONE;
}

void statement_tag(struct buf *out, struct span text)
{
	size_t begin = out->len, at = 0;
	struct span inside;

	while ((inside = next_comment(text, &at)).ptr) {
		size_t before = out->len;

		buf_add_str(out, out->len > begin ? "; " : "");
		if (!add_pairs(out, inside))
			add_words(out, inside);
		if (out->len == before + (before > begin ? 2 : 0))
			out->len = before;
	}
	if (out->data)
		out->data[out->len] = '\0';
}

/* ---- requests ---- */

/* W3C Trace Context, "traceparent Header": version, trace, parent and flags, as 2, 32, 16 and 2 hexadecimal digits. */
enum { TRACEPARENT_LEN = 2 + 1 + 32 + 1 + 16 + 1 + 2 };

static bool is_traceparent(struct span s)
{
	if (s.len < TRACEPARENT_LEN)
		return false;
	for (size_t i = 0; i < TRACEPARENT_LEN; i++) {
		bool dash = i == 2 || i == 2 + 1 + 32 || i == 2 + 1 + 32 + 1 + 16;

		if (dash ? s.ptr[i] != '-' : char_hex_value(s.ptr[i]) < 0)
			return false;
	}
	return true;
}

struct span statement_traceparent(struct span text)
{
	static const char key[] = "traceparent";
	struct span inside;
	size_t at = 0;

	while ((inside = next_comment(text, &at)).ptr) {
		for (size_t i = 0; i + sizeof(key) - 1 < inside.len; i++) {
			struct span rest = span_of(inside.ptr + i, inside.len - i);

			if (!span_ieq_str(span_of(rest.ptr, sizeof(key) - 1), key))
				continue;
			rest = span_of(rest.ptr + sizeof(key) - 1, rest.len - (sizeof(key) - 1));
			while (rest.len && strchr("= :'\"\\", rest.ptr[0]) && rest.ptr[0])
				rest = span_of(rest.ptr + 1, rest.len - 1);
			if (is_traceparent(rest))
				return span_of(rest.ptr, TRACEPARENT_LEN);
		}
	}
	return SPAN_NONE;
}
