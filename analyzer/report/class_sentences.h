/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each class of findings means, in one sentence: for the rules of SARIF and the page. */
#ifndef REPORT_CLASS_SENTENCES_H
#define REPORT_CLASS_SENTENCES_H

#include "base/buf.h"
#include "common/finding_class.h"

/* Appends the sentence.  `level`: of the finding, which CLASS_LEVEL is about. */
void class_meaning(struct buf *out, enum finding_class class, const char *level);

#endif
