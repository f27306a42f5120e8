/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MD5, SHA1, SHA2 and CRC32, of the bytes of a text in its own character set. */
#include <openssl/evp.h>
#include <zlib.h>

#include "eval/compile.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
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
		return run_gives_up(f->run, LIMIT_EXPRESSION_NOT_MODELLED);
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

static struct node *compile_digest(struct compiler *c, struct node *n, const struct function *function)
{
	n->u.number = function->number;
	if (digest_refused(c, n))
		return NULL;
	if (n->arg_count == 2) { /* SHA2 */
		if (sha2_refused(c, n->args[1]))
			return NULL;
		n->u.number = n->args[1]->u.value.i;
		if (!algorithm((int)n->u.number))
			return compile_gives_up(
				c, LIMIT_SHA2_OF_OTHER_THAN_0_224_256_384_OR_512_BITS);
	}
	n->collation = c->env->collation_connection;
	n->type = type_string(n->collation, 4, 0);
	return n;
}

static struct node *compile_crc32(struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (digested_literal_refused(c, n->args[0]))
		return NULL;
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
