/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program isorec: command line and dispatch to its commands. */
#include <stdio.h>

#include "base/err.h"

int main(void)
{
	fprintf(stderr, "usage: isorec COMMAND [OPTION...]\n");
	return EXIT_STATUS_USAGE;
}
