/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each class of findings means, in one sentence: for the rules of SARIF and the page. */
#ifndef REPORT_CLASS_SENTENCES_H
#define REPORT_CLASS_SENTENCES_H

#include "base/buf.h"

/* Appends the sentence.  Names with -session and -realtime are those of the class before them. */
void class_meaning(struct buf *out, const char *class_name);

#endif
