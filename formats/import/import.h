/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads other tools' histories.  docs/oracles/values.md names the tools and what of each format is
 * read.  Every error says file, line and byte offset.
 */
#ifndef IMPORT_IMPORT_H
#define IMPORT_IMPORT_H

#include "base/attr.h"
#include "base/err.h"
#include "import/window.h"
#include "model/values/values.h"

enum import_format {
	IMPORT_ELLE,       /* Elle / Jepsen, EDN */
	IMPORT_ELLE_JSON,  /* the same as JSON (elle-cli) */
	IMPORT_PLUME,      /* Plume, PolySI, IsoVista text */
	IMPORT_AWDIT,      /* AWDIT's test text */
	IMPORT_DBCOP,      /* dbcop bincode */
	IMPORT_DBCOP_JSON, /* dbcop 0.2 JSON */
	IMPORT_COBRA,      /* a directory of T<n>.log */
	IMPORT_VIPER,      /* a directory of J<n>.log */
	IMPORT_CHRONOS,    /* Chronos JSON */
};
enum { IMPORT_FORMAT_COUNT = IMPORT_CHRONOS + 1 };

/* "elle", "elle-json", ...; the names of --from. */
const char *import_format_name(enum import_format format);
bool import_format_parse(const char *name, enum import_format *format);

/* The format, by how the file begins or what a directory holds.  False: none of these for certain,
 * or standard input, which cannot be looked at beforehand. */
bool import_detect(const char *path, enum import_format *format);
/* The same of a file's beginning, which has a NUL after it. */
bool import_detect_bytes(struct span beginning, enum import_format *format);
/* Only for import_detect. */
bool import_detect_directory(const char *path, enum import_format *format);

/* A file, "-" for standard input, or the directory that Cobra and Viper write (a single file of
 * theirs is one session).  meter may be NULL. */
MUST_CHECK bool import_path(enum import_format format, const char *path, const struct meter *meter,
	struct values *out, struct err *err);
/* From memory; step: bytes a refill, 0 for the usual window.  Tests and fuzzing. */
MUST_CHECK bool import_memory(enum import_format format, const char *name, struct span bytes,
	size_t step, struct values *out, struct err *err);

/* The readers, one a file.  Each reads one input to its end into the builder. */
typedef bool import_reader(
	struct window *in, struct values_builder *b, int64_t session, struct err *err);
MUST_CHECK import_reader elle_read, elle_json_read, plume_read, awdit_read, dbcop_read,
	dbcop_json_read, cobra_read, viper_read, chronos_read;

#endif
