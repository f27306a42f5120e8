/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/model_options.h"

#include "generate/learn_model.h"

bool model_options_open(struct model *out, const struct model_options *o, struct buf *learnt, struct err *err)
{
	if (!o->like && o->anonymous)
		return err_set(err, ERR_USAGE, "--anonymous goes with --like");
	if (!o->like)
		return model_open(out, o->model ? o->model : "tiny", err);
	if (o->model)
		return err_set(err, ERR_USAGE, "--model and --like: which of the two?");
	return learn_model(o->like, o->anonymous, learnt, err) && model_parse(out, buf_span(learnt), "learnt", err);
}
