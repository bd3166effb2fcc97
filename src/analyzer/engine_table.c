/* SPDX-License-Identifier: Apache-2.0 */
/* engine_table.c - the table of engines: one line each, the default first. */
#include "base/error.h"
#include "engine/engine.h"

#include <fathom/analyzer.h>
#include <string.h>

/* clang-format off */
static const fm_engine_ops *const engines[] = {
    &fm_engine_exact,
    &fm_engine_tree,
    &fm_engine_list,
    &fm_engine_parda,
    &fm_engine_approx,
    &fm_engine_shards,
    &fm_engine_aet,
    &fm_engine_gpu,
    &fm_engine_hp_rda,
    &fm_engine_hp_rda_gpu,
};
/* clang-format on */

enum { ENGINES = sizeof engines / sizeof engines[0] };

const fm_engine_info *fm_engine_at(size_t index)
{
    return index < ENGINES ? &engines[index]->info : NULL;
}

const fm_engine_ops *fm_engine_find(const char *name)
{
    for (size_t i = 0; i < ENGINES; i++)
        if (strcmp(engines[i]->info.name, name) == 0) return engines[i];
    return NULL;
}

const fm_engine_option *fm_engine_option_at(const char *engine, size_t index)
{
    const fm_engine_ops *ops = fm_engine_find(engine ? engine : engines[0]->info.name);
    if (!ops || !ops->own) return NULL;
    for (const fm_engine_option *option = ops->own; option->name; option++)
        if (index-- == 0) return option;
    return NULL;
}

fm_status fm_engine_options_check(const char *engine, const char *options, fm_error *error)
{
    fm_option_value values[FM_MOST_OWN_OPTIONS];
    const char *name = engine ? engine : engines[0]->info.name;
    const fm_engine_ops *ops = fm_engine_find(name);
    if (!ops) return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no engine '%s'", name);
    return fm_own_options_parse(name, ops->own, options, values, error);
}
