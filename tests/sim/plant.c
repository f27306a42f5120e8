/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sim/run.h"

struct sim_plants *sim_plants_new(
	const struct sim_options *options, uint32_t *keys, uint32_t *predicate_keys)
{
	(void)options;
	*keys = *predicate_keys = 0;
	return NULL;
}

void sim_plants_free(struct sim_plants *plants)
{
	(void)plants;
}

void sim_plants_load(struct sim *sim, uint32_t table, uint32_t predicate_table)
{
	(void)sim;
	(void)table;
	(void)predicate_table;
}

bool sim_plants_step(struct sim *sim)
{
	(void)sim;
	return false;
}

bool sim_plants_done(const struct sim *sim)
{
	(void)sim;
	return true;
}

void sim_plants_final(struct sim *sim)
{
	(void)sim;
}

void sim_plants_json(const struct sim *sim, struct buf *out)
{
	(void)sim;
	(void)out;
}

const char *sim_plant_name(enum sim_plant plant)
{
	(void)plant;
	return "";
}

bool sim_plant_parse(const char *name, enum sim_plant *out)
{
	(void)name;
	(void)out;
	return false;
}
