/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements parsed a second, for short statements as an application sends them. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/bug.h"
#include "sql/sql.h"

static const struct {
	const char *name;
	const char *text[8];
} mixes[] = {
	{"point statements",
		{"SELECT c FROM sbtest1 WHERE id=501", "UPDATE sbtest1 SET k=k+1 WHERE id=501",
			"DELETE FROM sbtest1 WHERE id=501",
			"INSERT INTO sbtest1 (id, k, c, pad) VALUES (501, 7, 'abcdef', 'ghijkl')",
			"SELECT c FROM sbtest1 WHERE id BETWEEN 500 AND 600"}},
	{"transaction control", {"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT a", "SET autocommit=0",
					"START TRANSACTION WITH CONSISTENT SNAPSHOT"}},
	{"queries", {"SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 500 AND 600 ORDER BY c",
			    "SELECT o.id, c.name, SUM(l.price * l.quantity) AS total FROM orders o "
			    "JOIN customers c "
			    "ON c.id = o.customer_id LEFT JOIN order_lines l ON l.order_id = o.id "
			    "WHERE o.state IN "
			    "('open', 'paid') AND o.created >= '2024-01-01' GROUP BY o.id, c.name "
			    "HAVING total > 100 "
			    "ORDER BY total DESC LIMIT 20",
			    "INSERT INTO counters (k, v) VALUES ('x', 1) ON DUPLICATE KEY UPDATE v "
			    "= v + VALUES(v)",
			    "SELECT id FROM queue WHERE state = 'ready' ORDER BY id LIMIT 1 FOR "
			    "UPDATE SKIP LOCKED"}},
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* the machine may be busy */
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(void)
{
	struct sql_options opt = sql_options_default();
	struct arena arena = ARENA_INIT;

	for (size_t m = 0; m < ARRAY_LEN(mixes); m++) {
		size_t count = 0, bytes = 0, n = 0;
		double start = now(), end;

		while (n < 8 && mixes[m].text[n])
			n++;
		do {
			for (int i = 0; i < 20000; i++) {
				struct span text = span_str(mixes[m].text[(size_t)i % n]);
				struct sql_stmt *stmt;
				struct err err;

				if (!sql_parse(&arena, text, &opt, &stmt, &err))
					BUG("%s: %s", text.ptr, err.text);
				arena_clear(&arena);
				bytes += text.len;
				count++;
			}
			end = now();
		} while (end - start < 1.0);
		printf("%-20s %9.0f statements/s  %6.1f MB/s  %5.0f ns each\n", mixes[m].name,
			(double)count / (end - start), (double)bytes / (end - start) / 1e6,
			(end - start) * 1e9 / (double)count);
	}
	arena_release(&arena);
	return 0;
}
