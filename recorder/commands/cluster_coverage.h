/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isorec cluster coverage: which blocks of the servers' library traces reached, one against the others. */
#ifndef COMMANDS_CLUSTER_COVERAGE_H
#define COMMANDS_CLUSTER_COVERAGE_H

#include "base/err.h"

enum exit_status cluster_coverage(char **traces, int count);

#endif
