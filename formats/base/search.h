/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Binary search. */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

/* The first `i` of from <= i < to for which `holds` is true; `to` where there is none.  `holds` is an
 * expression of i that is false up to some i and true from there on. */
#define FIRST_WHERE(i, from, to, holds)                                                             \
	__extension__({                                                                             \
		__typeof__((to) + 0) low_ = (from), high_ = (to);                                   \
                                                                                                    \
		while (low_ < high_) {                                                              \
			__typeof__(low_) i = low_ + (high_ - low_) / 2;                             \
                                                                                                    \
			if (holds)                                                                  \
				high_ = i;                                                          \
			else                                                                        \
				low_ = i + 1;                                                       \
		}                                                                                   \
		low_;                                                                               \
	})

#endif
