/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * late_hooks.cc - a plug-in for gcc: has the calls of `fathom cc`'s hooks put in when the optimiser is done,
 * and not before. It does not know what the hooks do (collect/cc).
 *
 * gcc's own pass for ThreadSanitizer ("tsan") comes before the optimisations of loops, which its calls
 * forbid: no loop is vectorised, nothing is kept in a register over a round, and what is counted are the
 * accesses of another program. The same pass is there a second time for functions that are not optimised
 * ("tsan0"), behind all optimisations. So the first is left out and the second runs always. Around it:
 *
 *     fathom_bare      makes visible to it what no other thread could reach: local arrays and structures that
 *                      lie in memory, constant tables
 *     tsan0            gcc's own: a call for each load and store, for functions entered and left
 *     fathom_told      undoes fathom_bare; has vectors and what is not aligned told by a hook for their size,
 *                      where gcc has one for any; and puts calls before loads and stores under a mask, which
 *                      gcc's pass does not know
 *
 * Gathered loads are made by single ones, of which each is seen; the processor would make as many accesses.
 *
 * It links nothing but what gcc exports to plug-ins and is under gcc's licence for them; fathom meets it as a
 * file that gcc is told to load.
 */
/* Each needs those before it. */
/* clang-format off */
#include "gcc-plugin.h"
#include "plugin-version.h"

#include "context.h"
#include "tree-pass.h"
#include "tree.h"
#include "gimple.h"
#include "gimple-iterator.h"
#include "ssa.h"
#include "stringpool.h"
#include "attribs.h"
#include "asan.h"
#include "function.h"
#include "options.h"
#include "internal-fn.h"
#include "target.h"
#include "tree-ssa-alias.h"
#include "fold-const.h"
/* clang-format on */

int plugin_is_GPL_compatible;

static auto_vec<tree> tables; /* constant ones, which do not look so for the time of one pass */

static bool is_instrumented(void)
{
    return sanitize_flags_p(SANITIZE_THREAD, current_function_decl);
}

/* ---- which pass runs ---- */

static void choose_pass(void *gate, void *)
{
    if (!current_pass || current_pass->type != GIMPLE_PASS || !cfun) return;
    if (strcmp(current_pass->name, "tsan") == 0) *(bool *)gate = false;
    if (strcmp(current_pass->name, "tsan0") == 0) *(bool *)gate = is_instrumented();
}

/* ---- what other threads cannot reach ---- */

/* An index that is computed at run time: what it leads into lies in memory. */
static bool is_indexed(tree place)
{
    for (; handled_component_p(place); place = TREE_OPERAND(place, 0))
        if ((TREE_CODE(place) == ARRAY_REF || TREE_CODE(place) == ARRAY_RANGE_REF) &&
            TREE_CODE(TREE_OPERAND(place, 1)) != INTEGER_CST)
            return true;
    return false;
}

/* The variable that a load or store names, where it is one. */
static tree variable_of(tree place)
{
    if (!place) return NULL_TREE;
    tree base = get_base_address(place);
    return base && VAR_P(base) ? base : NULL_TREE;
}

static void make_visible(tree place)
{
    tree variable = variable_of(place);
    if (!variable || is_gimple_reg(variable)) return;
    if (TREE_READONLY(variable)) {
        TREE_READONLY(variable) = 0;
        tables.safe_push(variable);
    }
    /* What is smaller the compiler may still keep in a register: it must not be told that it cannot. */
    if (!is_global_var(variable) && (DECL_MODE(variable) == BLKmode || is_indexed(place)))
        TREE_ADDRESSABLE(variable) = 1;
}

static void make_operands_visible(gimple *statement)
{
    if (!gimple_assign_single_p(statement)) return;
    if (gimple_store_p(statement)) make_visible(gimple_assign_lhs(statement));
    if (gimple_assign_load_p(statement)) make_visible(gimple_assign_rhs1(statement));
}

template <typename action> static void for_each_statement(action act)
{
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) act(&at);
}

/* ---- hooks of our own ---- */

static tree hook_of(const char *name, tree type)
{
    tree hook = build_fn_decl(name, type);
    TREE_NOTHROW(hook) = 1;
    DECL_ATTRIBUTES(hook) = tree_cons(get_identifier("leaf"), NULL, DECL_ATTRIBUTES(hook));
    return hook;
}

/* A call of gcc's hook for a range of bytes. */
static bool is_range_hook(gimple *statement, bool stores)
{
    tree called = is_gimple_call(statement) ? gimple_call_fndecl(statement) : NULL_TREE;
    return called && fndecl_built_in_p(called, stores ? BUILT_IN_TSAN_WRITE_RANGE : BUILT_IN_TSAN_READ_RANGE);
}

/* The place in memory of the access that a hook is called for: it comes next but for other hooks. */
static tree place_of_access(gimple_stmt_iterator at, bool stores)
{
    do gsi_next_nondebug(&at);
    while (!gsi_end_p(at) && (is_range_hook(gsi_stmt(at), false) || is_range_hook(gsi_stmt(at), true)));
    if (gsi_end_p(at) || !gimple_assign_single_p(gsi_stmt(at))) return NULL_TREE;
    return stores ? gimple_assign_lhs(gsi_stmt(at)) : gimple_assign_rhs1(gsi_stmt(at));
}

/* gcc has one hook for what is aligned to less than its size. Ranges stay with it: they may become calls of
 * memcpy, which the runtime then knows as the same. */
static void put_size(gimple_stmt_iterator *at)
{
    gimple *call = gsi_stmt(*at);
    const bool stores = is_range_hook(call, true);
    if (!stores && !is_range_hook(call, false)) return;
    tree length = gimple_call_arg(call, 1), place = place_of_access(*at, stores);
    if (!place || AGGREGATE_TYPE_P(TREE_TYPE(place)) || !tree_fits_uhwi_p(length)) return;
    const unsigned HOST_WIDE_INT size = tree_to_uhwi(length);
    if (size > 32 || !pow2p_hwi(size)) return;
    char name[32];
    snprintf(name, sizeof name, "__fathom_%s%u", stores ? "store" : "load", (unsigned)size);
    tree type = build_function_type_list(void_type_node, ptr_type_node, NULL_TREE);
    gcall *made = gimple_build_call(hook_of(name, type), 1, gimple_call_arg(call, 0));
    gimple_set_location(made, gimple_location(call));
    gimple_move_vops(made, call);
    gsi_replace(at, made, false);
}

/* ---- loads and stores under a mask ---- */

/* The mask goes to memory, whatever it is made of: elements, or bits. */
static tree store_mask(gimple_stmt_iterator *at, tree mask, location_t location)
{
    tree copy = create_tmp_var(TREE_TYPE(mask), "fathom_mask");
    TREE_ADDRESSABLE(copy) = 1;
    DECL_NOT_GIMPLE_REG_P(copy) = 1;
    gassign *store = gimple_build_assign(copy, mask);
    gimple_set_location(store, location);
    gsi_insert_before(at, store, GSI_SAME_STMT);
    return build_fold_addr_expr(copy);
}

static void put_masked(gimple_stmt_iterator *at)
{
    gcall *call = dyn_cast<gcall *>(gsi_stmt(*at));
    if (!call || !gimple_call_internal_p(call)) return;
    const bool loads = gimple_call_internal_fn(call) == IFN_MASK_LOAD;
    if (!loads && gimple_call_internal_fn(call) != IFN_MASK_STORE) return;
    tree value = loads ? gimple_call_lhs(call) : gimple_call_arg(call, 3), mask = gimple_call_arg(call, 2);
    if (!value || !VECTOR_TYPE_P(TREE_TYPE(value))) return;
    unsigned HOST_WIDE_INT count;
    if (!TYPE_VECTOR_SUBPARTS(TREE_TYPE(value)).is_constant(&count)) return;
    const bool bits = VECTOR_MODE_P(TYPE_MODE(TREE_TYPE(mask))) == false;
    tree type = build_function_type_list(void_type_node, ptr_type_node, ptr_type_node, unsigned_type_node,
                                         unsigned_type_node, unsigned_type_node, NULL_TREE);
    tree hook = hook_of(loads ? "__fathom_masked_load" : "__fathom_masked_store", type);
    tree copy = store_mask(at, mask, gimple_location(call));
    gcall *made =
        gimple_build_call(hook, 5, gimple_call_arg(call, 0), copy, build_int_cst(unsigned_type_node, count),
                          fold_convert(unsigned_type_node, TYPE_SIZE_UNIT(TREE_TYPE(TREE_TYPE(value)))),
                          build_int_cst(unsigned_type_node, bits));
    gimple_set_location(made, gimple_location(call));
    gsi_insert_before(at, made, GSI_SAME_STMT);
}

/* ---- the passes ---- */

namespace
{

const pass_data bare_data = {
    GIMPLE_PASS, "fathom_bare", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0};
const pass_data told_data = {GIMPLE_PASS,
                             "fathom_told",
                             OPTGROUP_NONE,
                             TV_NONE,
                             PROP_cfg | PROP_ssa,
                             0,
                             0,
                             0,
                             TODO_update_ssa_only_virtuals};

class bare_pass : public gimple_opt_pass
{
  public:
    explicit bare_pass(gcc::context *context) : gimple_opt_pass(bare_data, context)
    {
    }
    bool gate(function *) final override
    {
        return is_instrumented();
    }
    unsigned execute(function *of) final override
    {
        for_each_statement([](gimple_stmt_iterator *at) { make_operands_visible(gsi_stmt(*at)); });
        pt_solution_reset(&of->gimple_df->escaped);
        return 0;
    }
};

class told_pass : public gimple_opt_pass
{
  public:
    explicit told_pass(gcc::context *context) : gimple_opt_pass(told_data, context)
    {
    }
    bool gate(function *) final override
    {
        return is_instrumented();
    }
    unsigned execute(function *) final override
    {
        while (!tables.is_empty()) TREE_READONLY(tables.pop()) = 1;
        for_each_statement(put_size);
        for_each_statement(put_masked);
        return 0;
    }
};

} // namespace

static void register_beside(const char *plugin, opt_pass *pass, pass_positioning_ops where)
{
    register_pass_info info = {pass, "tsan0", 1, where};
    register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, NULL, &info);
}

/* ---- gathers ---- */

static tree no_gather(const_tree, const_tree, int)
{
    return NULL_TREE;
}

static tree no_scatter(const_tree, const_tree, int)
{
    return NULL_TREE;
}

int plugin_init(plugin_name_args *args, plugin_gcc_version *version)
{
    if (strcmp(version->basever, gcc_version.basever) != 0) {
        fprintf(stderr, "%s is for gcc %s, and this is gcc %s\n", args->full_name, gcc_version.basever,
                version->basever);
        return 1;
    }
    register_callback(args->base_name, PLUGIN_OVERRIDE_GATE, choose_pass, NULL);
    targetm.vectorize.builtin_gather = no_gather;
    targetm.vectorize.builtin_scatter = no_scatter;
    register_beside(args->base_name, new bare_pass(g), PASS_POS_INSERT_BEFORE);
    register_beside(args->base_name, new told_pass(g), PASS_POS_INSERT_AFTER);
    return 0;
}
