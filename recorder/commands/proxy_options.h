/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of `isorec proxy` as they are given; what is made of them is proxy.c's. */
#ifndef COMMANDS_PROXY_OPTIONS_H
#define COMMANDS_PROXY_OPTIONS_H

#include "base/command.h"
#include "base/output.h"

struct proxy_options {
	struct option_strings listen, nodes, databases, logs, log_patterns;
	const char *control, *metrics;
	uint64_t poll_interval;
	const char *output, *capture, *user, *password;
	const char *tls_cert, *tls_key, *tls_ca;
	const char *only_table, *skip_table, *redact, *redact_key;
	const char *only_user, *skip_user, *only_database, *skip_database;
	const char *snapshot_rows;
	uint64_t workers, sample, sessions_max, rows_max;
	uint64_t result_bytes_max, value_max, packet_max, buffer, segment_size, total_size;
	uint64_t connect_timeout, drain_timeout, flush_interval;
	int tls, policy, instrument, redact_with, sync, proxy_protocol;
	const char *compression;
	int compression_level;
	bool no_compression, no_record, quiet, accept_proxy_protocol, all_writers;
	bool predicate_probes, durable;
	struct output_options output_options;
	struct option_file_options option_files;
};

extern const struct option_def proxy_option_table[];
/* As they are when none is given. */
struct proxy_options proxy_options_default(void);

#endif
