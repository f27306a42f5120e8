/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The change to TLS in the connection phase: what is held, what is moved, at every split. */
#include "../unit/unit.h"

#include "base/mem.h"
#include "proxy/tls_upgrade.h"

/* A login: flags with and without SSL (bit 11) and PROTOCOL_41 (bit 9), 40 bytes of payload. */
static void make_packet(unsigned char *out, uint32_t length, uint32_t flags)
{
	memset(out, 'x', 4 + length);
	out[0] = (unsigned char)length;
	out[1] = out[2] = 0;
	out[3] = 1;
	for (int i = 0; i < 4; i++)
		out[4 + i] = (unsigned char)(flags >> (8 * i));
}

/* Feeds as the relay does: never more than there is room for, in pieces of `step`. */
static enum upgrade_verdict feed(
	struct upgrade *upgrade, const unsigned char *bytes, size_t len, size_t step, size_t *used)
{
	*used = 0;
	memset(upgrade, 0, sizeof(*upgrade));
	while (*used < len && upgrade_verdict(upgrade) == UPGRADE_MORE) {
		size_t take = upgrade_room(upgrade);

		take = take < step ? take : step;
		take = take < len - *used ? take : len - *used;
		memcpy(upgrade->bytes + upgrade->len, bytes + *used, take);
		upgrade->len += take;
		*used += take;
	}
	return upgrade_verdict(upgrade);
}

START_TEST(requests_are_told_from_logins)
{
	static const struct {
		uint32_t length, flags;
		enum upgrade_verdict verdict;
		size_t held;
	} cases[] = {
		{32, 0xa00, UPGRADE_TLS, 36},
		{32, 0x200, UPGRADE_PLAIN, 36},
		{32, 0x800, UPGRADE_PLAIN, 36},
		{40, 0xa00, UPGRADE_PLAIN, 36},
		{40, 0x200, UPGRADE_PLAIN, 36},
		{12, 0x000, UPGRADE_PLAIN, 4},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		unsigned char bytes[200];
		struct upgrade upgrade;
		size_t used;

		make_packet(bytes, cases[i].length, cases[i].flags);
		memset(bytes + 4 + cases[i].length, 0x16, 100); /* TLS begins after a request */
		for (size_t step = 1; step < 40; step++) {
			ck_assert_int_eq(
				feed(&upgrade, bytes, 4 + cases[i].length + 100, step, &used),
				cases[i].verdict);
			ck_assert_uint_eq(used, cases[i].held);
		}
		for (size_t len = 0; len < cases[i].held; len++)
			ck_assert_int_eq(feed(&upgrade, bytes, len, 50, &used), UPGRADE_MORE);
	}
}
END_TEST

START_TEST(a_request_is_made_of_a_login)
{
	unsigned char login[44], request[UPGRADE_REQUEST_SIZE];
	struct upgrade upgrade;
	size_t used;

	make_packet(login, 40, 0x018a200);
	ck_assert_int_eq(feed(&upgrade, login, 44, 50, &used), UPGRADE_PLAIN);
	upgrade_request(&upgrade, request);
	ck_assert_mem_eq(request, "\x20\0\0\1\0\xaa\x18\0", 8);
	ck_assert_mem_eq(request + 8, login + 8, 28);
	memcpy(upgrade.bytes, request, sizeof(request));
	ck_assert_int_eq(upgrade_verdict(&upgrade), UPGRADE_TLS);
	upgrade_flags(login);
	ck_assert_mem_eq(login, "\x28\0\0\1\0\xaa\x18\0", 8);
}
END_TEST

START_TEST(numbers_move_until_the_login_is_over)
{
	/* Switch, more data, an empty packet, OK; then a command's answer, which is not moved. */
	static const unsigned char stream[] = "\2\0\0\3\xfe\x41"
					      "\1\0\0\5\1"
					      "\0\0\0\6"
					      "\3\0\0\7\0\0\0"
					      "\1\0\0\1\xfb";
	static const unsigned char moved[] = "\2\0\0\2\xfe\x41"
					     "\1\0\0\4\1"
					     "\0\0\0\5"
					     "\3\0\0\6\0\0\0"
					     "\1\0\0\1\xfb";
	size_t len = sizeof(stream) - 1;

	for (size_t step = 1; step <= len; step++) {
		struct renumber renumber = {.by = -1};
		unsigned char bytes[sizeof(stream)];
		unsigned over = 0;

		memcpy(bytes, stream, sizeof(stream));
		for (size_t at = 0; at < len; at += step)
			over += renumber_apply(
				&renumber, bytes + at, len - at < step ? len - at : step);
		ck_assert_mem_eq(bytes, moved, len);
		ck_assert_uint_eq(over, 1);
	}
	/* The client's direction moves up and never decides. */
	for (size_t step = 1; step <= len; step++) {
		struct renumber renumber = {.by = 1};
		unsigned char bytes[sizeof(stream)];

		memcpy(bytes, stream, sizeof(stream));
		for (size_t at = 0; at < 15; at += step)
			ck_assert(!renumber_apply(
				&renumber, bytes + at, 15 - at < step ? 15 - at : step));
		ck_assert_mem_eq(bytes, "\2\0\0\4\xfe\x41\1\0\0\6\1\0\0\0\7", 15);
	}
}
END_TEST

UNIT_MAIN("upgrade", requests_are_told_from_logins, a_request_is_made_of_a_login,
	numbers_move_until_the_login_is_over)
