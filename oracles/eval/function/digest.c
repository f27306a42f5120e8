/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MD5, SHA1, SHA2 and CRC32, of the bytes of a text in its own character set. */
#include <openssl/evp.h>
#include <zlib.h>

#include "eval/compile.h"
#include "eval/value/release.h"

/* The text of the first argument; false: NULL. */
static bool bytes_of(const struct node *n, struct frame *f, struct span *out)
{
	struct eval_value v = node_run(n->args[0], f);

	if (v.kind == EVAL_NULL || f->run->failed)
		return false;
	*out = to_text(f->run, &n->args[0]->type, &v);
	return !f->run->failed;
}

static const EVP_MD *algorithm(int bits)
{
	switch (bits) {
	case 128:
		return EVP_md5();
	case 160:
		return EVP_sha1();
	case 224:
		return EVP_sha224();
	case 0:
	case 256:
		return EVP_sha256();
	case 384:
		return EVP_sha384();
	case 512:
		return EVP_sha512();
	default:
		return NULL;
	}
}

static struct eval_value run_digest(const struct node *n, struct frame *f)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	struct buf text = BUF_INIT;
	struct eval_value out;
	unsigned size;
	struct span s;

	if (!bytes_of(n, f, &s))
		return EVAL_NULL_VALUE;
	if (!EVP_Digest(s.ptr, s.len, digest, &size, algorithm((int)n->u.number), NULL))
		return run_unsupported(f->run, LIMIT_EXPRESSION_NOT_MODELLED);
	for (unsigned i = 0; i < size; i++)
		buf_printf(&text, "%02x", digest[i]);
	out = make_text(f->run, &text, n->type.collation);
	buf_release(&text);
	return out;
}

static struct eval_value run_crc32(const struct node *n, struct frame *f)
{
	struct span s;

	if (!bytes_of(n, f, &s))
		return EVAL_NULL_VALUE;
	return eval_uint(crc32_z(0, (const Bytef *)s.ptr, s.len));
}

/* MySQL 9.7 may write over the text of a date literal. */
static bool is_date_literal(const struct compiler *c, const struct node *n)
{
	return c->env->flavour == SQL_MYSQL && n->literal && type_is_temporal(&n->type);
}

/* MySQL gives the argument a binary collation, and these compare under it. */
static bool compares_within(const struct compiler *c, const struct node *n)
{
	return c->env->flavour == SQL_MYSQL &&
	       (calls_regexp(n) || (n->expr && n->expr->kind == SQL_EXPR_CALL &&
					   (span_ieq_str(n->expr->u.call.name, "greatest") ||
						   span_ieq_str(n->expr->u.call.name, "least"))));
}

static struct node *compile_digest(struct compiler *c, struct node *n, const struct function *function)
{
	n->u.number = function->number;
	if (n->arg_count == 1 && compile_mysql_has(c, MYSQL_NO_MD5))
		return compile_unsupported(c, LIMIT_MYSQL_9_7_MD5_OR_SHA1_WHICH_MAY_LACK);
	if (c->failed)
		return NULL;
	if (is_date_literal(c, n->args[0]))
		return compile_unsupported(c, LIMIT_MYSQL_DATE_LITERAL_IN_TEXT);
	if (compares_within(c, n->args[0]))
		return compile_unsupported(c, LIMIT_MYSQL_DIGEST_OF_REGEXP_SUBSTR_GREATEST_AND_KIN);
	if (n->arg_count == 2) { /* SHA2 */
		if (!n->args[1]->literal || n->args[1]->u.value.kind != EVAL_INT ||
			n->args[1]->u.value.i < 0 || n->args[1]->u.value.i == 128 ||
			n->args[1]->u.value.i == 160 || n->args[1]->u.value.i > 512 ||
			!algorithm((int)n->args[1]->u.value.i))
			return compile_unsupported(
				c, LIMIT_SHA2_OF_OTHER_THAN_0_224_256_384_OR_512_BITS);
		n->u.number = n->args[1]->u.value.i;
	}
	n->collation = c->env->collation_connection;
	n->type = type_string(n->collation, 4, 0);
	return n;
}

static struct node *compile_crc32(struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (is_date_literal(c, n->args[0]))
		return compile_unsupported(c, LIMIT_MYSQL_DATE_LITERAL_IN_TEXT);
	n->type = type_int(true);
	return n;
}

const struct function functions_digest[] = {
	{"md5", 1, 1, compile_digest, run_digest, 128},
	{"sha", 1, 1, compile_digest, run_digest, 160},
	{"sha1", 1, 1, compile_digest, run_digest, 160},
	{"sha2", 2, 2, compile_digest, run_digest, 0},
	{"crc32", 1, 1, compile_crc32, run_crc32, 0},
	{NULL, 0, 0, NULL, NULL, 0},
};
