/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiler attributes under names that read, and the array length macro.
 */
#ifndef BASE_ATTR_H
#define BASE_ATTR_H

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define ALWAYS_INLINE          static inline __attribute__((always_inline))
#define NORETURN __attribute__((noreturn))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
