/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that a scenario asks of its server (`# server: NAME=VALUE`). */
#ifndef RUN_SETTINGS_H
#define RUN_SETTINGS_H

#include "run/engine.h"
#include "scenario/scenario.h"

/* "NAME=VALUE" of each, after those of `base` (NULL: none), with NULL at the end: what a private server is started with. */
char **settings_of(const struct scenario *scenario, const char *const *base);
bool settings_equal(char *const *a, char *const *b);
void settings_free(char **settings);

/* Whether the server that the engine is connected with has them.  One that runs is not changed. */
bool settings_check(struct engine *engine, const struct scenario *scenario) MUST_CHECK;

#endif
