/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/row.h"

static void add_lenenc(struct buf *out, const char *ptr, size_t len)
{
	unsigned char head[9];
	size_t width = len < 0xfb ? 0 : len <= 0xffff ? 2 : len <= 0xffffff ? 3 : 8;

	head[0] = (unsigned char)(width == 0 ? len : width == 2 ? 0xfc : width == 3 ? 0xfd : 0xfe);
	for (size_t i = 0; i < width; i++)
		head[1 + i] = (unsigned char)(len >> (8 * i));
	buf_add(out, head, 1 + width);
	buf_add(out, ptr, len);
}

static void add_name(struct buf *out, const char *name, size_t len)
{
	add_lenenc(out, name ? name : "", name ? len : 0);
}

static void add_uint(struct buf *out, uint64_t value, int width)
{
	for (int i = 0; i < width; i++)
		buf_add_char(out, (char)(value >> (8 * i)));
}

/* The definition packet that the field was made from (protocol.md, "Column Definition"). */
static bool add_column(struct row_packer *p, const MYSQL_FIELD *field)
{
	struct buf *out = &p->packet;

	buf_clear(out);
	add_lenenc(out, "def", 3);
	add_name(out, field->db, field->db_length);
	add_name(out, field->table, field->table_length);
	add_name(out, field->org_table, field->org_table_length);
	add_name(out, field->name, field->name_length);
	add_name(out, field->org_name, field->org_name_length);
	add_uint(out, 0x0c, 1);
	add_uint(out, field->charsetnr, 2);
	add_uint(out, field->length, 4);
	add_uint(out, (unsigned)field->type, 1);
	add_uint(out, field->flags, 2);
	add_uint(out, field->decimals, 1);
	add_uint(out, 0, 2);
	return wire_columns_add(&p->columns, buf_span(out), 0);
}

void row_packer_init(struct row_packer *packer, MYSQL_RES *result)
{
	*packer = (struct row_packer){.columns = WIRE_COLUMNS_INIT};
	row_packer_reuse(packer, result);
}

void row_packer_reuse(struct row_packer *packer, MYSQL_RES *result)
{
	unsigned count = mysql_num_fields(result);
	const MYSQL_FIELD *fields = mysql_fetch_fields(result);

	wire_columns_clear(&packer->columns);
	packer->bad = false;
	for (unsigned i = 0; i < count && !packer->bad; i++)
		packer->bad = !add_column(packer, &fields[i]);
}

void row_packer_release(struct row_packer *packer)
{
	wire_columns_release(&packer->columns);
	buf_release(&packer->packet);
}

struct span row_packet(struct row_packer *packer, MYSQL_ROW row, const unsigned long *lengths)
{
	buf_clear(&packer->packet);
	for (size_t i = 0; i < packer->columns.count; i++) {
		if (row[i])
			add_lenenc(&packer->packet, row[i], lengths[i]);
		else
			buf_add_char(&packer->packet, (char)0xfb);
	}
	return buf_span(&packer->packet);
}

bool row_pack(struct row_packer *packer, MYSQL_ROW row, const unsigned long *lengths,
	struct buf *out, const struct values_limits *limits)
{
	return !packer->bad && values_pack_row(out, &packer->columns,
				       row_packet(packer, row, lengths), false, limits);
}
