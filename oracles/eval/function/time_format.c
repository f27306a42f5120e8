/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dates as texts: DAYNAME, MONTHNAME, DATE_FORMAT. */
#include "eval/compile.h"
#include "eval/function/time.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"

static const char *const day_names[] = {
	"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
static const char *const month_names[] = {"January", "February", "March", "April", "May", "June",
	"July", "August", "September", "October", "November", "December"};

bool time_arg(const struct node *n, struct frame *f, uint32_t i, enum eval_kind kind,
	struct eval_value *out)
{
	struct eval_value v = node_run(n->args[i], f);

	if (v.kind == EVAL_NULL || f->run->failed)
		return false;
	return time_from_value(f->run, &n->args[i]->type, &v, kind, out);
}

/* ---- names and formats ---- */

static struct eval_value run_name(const struct node *n, struct frame *f)
{
	struct eval_value v;
	const char *name;

	if (n->op ? !date_wanted(n, f, 0) || !part_arg(n, f, EVAL_DATE, &v) || has_zeros(f->run, &v)
		  : !whole_date(n, f, 0, EVAL_DATE, &v))
		return EVAL_NULL_VALUE;
	name = n->op ? month_names[v.t.month - 1] : day_names[weekday_of(days_in(&v), false)];
	return eval_string(span_str(name), n->collation);
}

static struct node *compile_name(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (day_name_refused(c))
		return NULL;
	n->collation = c->env->collation_connection;
	n->type = type_string(n->collation, 4, 9);
	if (c->env->flavour == SQL_MARIADB)
		n->type.decimals = 0;
	/* The number of the weekday. */
	n->type.text_only = c->env->flavour == SQL_MYSQL && n->op == 0 &&
			    mysql_has(c->env, MYSQL_DAYNAME_IS_TEXT) != 1;
	return n;
}

static const char *ordinal(uint32_t day)
{
	if (day >= 10 && day <= 19)
		return "th";
	return day % 10 == 1 ? "st" : day % 10 == 2 ? "nd" : day % 10 == 3 ? "rd" : "th";
}

static void format_week(const struct eval_time *t, char c, struct buf *out)
{
	uint32_t year, week;

	switch (c) {
	case 'U':
		buf_printf(out, "%02u", week_of(t, WEEK_FIRST_WEEKDAY, &year));
		break;
	case 'u':
		buf_printf(out, "%02u", week_of(t, WEEK_MONDAY, &year));
		break;
	case 'V':
	case 'X':
		week = week_of(t, WEEK_YEAR | WEEK_FIRST_WEEKDAY, &year);
		buf_printf(out, c == 'V' ? "%02u" : "%04u", c == 'V' ? week : year);
		break;
	default:
		week = week_of(t, WEEK_YEAR | WEEK_MONDAY, &year);
		buf_printf(out, c == 'v' ? "%02u" : "%04u", c == 'v' ? week : year);
	}
}

static void format_one(const struct eval_time *t, char c, struct buf *out)
{
	uint32_t hour12 = t->hour % 12 ? t->hour % 12 : 12;
	int64_t days = days_of(t->year, t->month, t->day);

	switch (c) {
	case 'Y':
		buf_printf(out, "%04u", t->year);
		break;
	case 'y':
		buf_printf(out, "%02u", t->year % 100);
		break;
	case 'm':
		buf_printf(out, "%02u", t->month);
		break;
	case 'c':
		buf_printf(out, "%u", t->month);
		break;
	case 'd':
		buf_printf(out, "%02u", t->day);
		break;
	case 'e':
		buf_printf(out, "%u", t->day);
		break;
	case 'D':
		buf_printf(out, "%u%s", t->day, ordinal(t->day));
		break;
	case 'M':
		buf_add_str(out, month_names[t->month - 1]);
		break;
	case 'b':
		buf_printf(out, "%.3s", month_names[t->month - 1]);
		break;
	case 'W':
		buf_add_str(out, day_names[weekday_of(days, false)]);
		break;
	case 'a':
		buf_printf(out, "%.3s", day_names[weekday_of(days, false)]);
		break;
	case 'w':
		buf_printf(out, "%u", weekday_of(days, true));
		break;
	case 'j':
		buf_printf(out, "%03u", (unsigned)(days - days_of(t->year, 1, 1) + 1));
		break;
	case 'H':
		buf_printf(out, "%02u", t->hour);
		break;
	case 'k':
		buf_printf(out, "%u", t->hour);
		break;
	case 'h':
	case 'I':
		buf_printf(out, "%02u", hour12);
		break;
	case 'l':
		buf_printf(out, "%u", hour12);
		break;
	case 'i':
		buf_printf(out, "%02u", t->minute);
		break;
	case 'S':
	case 's':
		buf_printf(out, "%02u", t->second);
		break;
	case 'f':
		buf_printf(out, "%06u", t->micro);
		break;
	case 'p':
		buf_add_str(out, t->hour < 12 ? "AM" : "PM");
		break;
	case 'r':
		buf_printf(out, "%02u:%02u:%02u %s", hour12, t->minute, t->second,
			t->hour < 12 ? "AM" : "PM");
		break;
	case 'T':
		buf_printf(out, "%02u:%02u:%02u", t->hour, t->minute, t->second);
		break;
	case 'U':
	case 'u':
	case 'V':
	case 'v':
	case 'X':
	case 'x':
		format_week(t, c, out);
		break;
	default:
		buf_add_char(out, c); /* %% and what means nothing */
	}
}

static struct eval_value run_date_format(const struct node *n, struct frame *f)
{
	struct buf text = BUF_INIT;
	struct eval_value v, format, out;

	if (!date_wanted(n, f, 0) || !part_arg(n, f, EVAL_DATETIME, &v) || has_zeros(f->run, &v))
		return EVAL_NULL_VALUE;
	format = node_run(n->args[1], f);
	if (format.kind == EVAL_NULL)
		return format;
	for (size_t i = 0; i < format.s.len; i++) {
		if (format.s.ptr[i] != '%' || i + 1 == format.s.len) {
			buf_add_char(&text, format.s.ptr[i]);
		} else if (date_format_part_refused(f->run, format.s.ptr[i + 1])) {
			buf_release(&text);
			return EVAL_NULL_VALUE;
		} else {
			format_one(&v.t, format.s.ptr[++i], &text);
		}
	}
	if (format.s.len == 0) {
		buf_release(&text);
		return EVAL_NULL_VALUE;
	}
	out = make_text(f->run, &text, n->collation);
	buf_release(&text);
	return out;
}

static struct node *compile_date_format(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (date_format_refused(c, n->args))
		return NULL;
	n->collation = n->args[1]->type.collation;
	n->type = type_string(n->collation, 4, 0);
	if (c->env->flavour == SQL_MARIADB)
		n->type.decimals = 0;
	return n;
}

const struct function functions_time_format[] = {
	{"dayname", 1, 1, compile_name, run_name, 0},
	{"monthname", 1, 1, compile_name, run_name, 1},
	{"date_format", 2, 2, compile_date_format, run_date_format, 0},
	{NULL, 0, 0, NULL, NULL, 0},
};
