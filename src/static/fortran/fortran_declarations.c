/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_declarations.c - what a program unit tells about its names: types, attributes, shapes, constants,
 * common blocks, modules, derived types. Data statements, formats and interfaces are passed over.
 */
#include "static/fortran/fortran_syntax.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What follows its word: kinds, lengths. */
static bool parse_type_parameters(ft_parser *parser, ft_type *type);

ft_symbol *fm_ft_own_symbol(ft_context *context, ft_unit *unit, const char *name, bool make)
{
    unsigned hash = 0;
    for (const char *c = name; *c; c++) hash = hash * 31 + (unsigned char)*c;
    ft_symbol **bucket = &unit->buckets[hash % FT_SYMBOL_BUCKETS];
    for (ft_symbol *symbol = *bucket; symbol; symbol = symbol->chain)
        if (strcmp(symbol->name, name) == 0) return symbol;
    if (!make) return NULL;
    if (++unit->symbol_count > FT_MOST_SYMBOLS) {
        fm_ft_fail(context, FM_E_LIMIT, &unit->place, "more than %d names in one unit", FT_MOST_SYMBOLS);
        return NULL;
    }
    ft_symbol *symbol = fm_ft_allocate(context, 1, sizeof *symbol);
    if (!symbol) return NULL;
    symbol->name = name;
    symbol->unit = unit;
    symbol->chain = *bucket;
    *bucket = symbol;
    if (unit->last_symbol)
        unit->last_symbol->next = symbol;
    else
        unit->symbols = symbol;
    unit->last_symbol = symbol;
    return symbol;
}

/* ---- shapes ---- */

/* Behind "(", up to and with ")". */
static bool array_spec(ft_parser *parser, unsigned *rank, ft_dimension **dimensions)
{
    ft_dimension found[FT_MOST_RANK];
    unsigned count = 0;
    do {
        if (count == FT_MOST_RANK)
            return fm_ft_puzzled(parser, "an array has more than %d dimensions", FT_MOST_RANK);
        ft_dimension *dimension = &found[count++];
        *dimension = (ft_dimension){.kind = FT_EXPLICIT};
        if (fm_ft_sign(parser, '*')) {
            dimension->kind = FT_ASSUMED_SIZE;
        } else if (fm_ft_sign(parser, ':')) {
            dimension->kind = FT_ASSUMED_SHAPE;
        } else {
            if (!(dimension->high = fm_ft_expression(parser))) return false;
            if (!fm_ft_sign(parser, ':')) continue;
            dimension->low = dimension->high;
            dimension->high = NULL;
            if (fm_ft_sign(parser, '*'))
                dimension->kind = FT_ASSUMED_SIZE;
            else if (fm_ft_at_sign(parser, ',') || fm_ft_at_sign(parser, ')'))
                dimension->kind = FT_ASSUMED_SHAPE;
            else if (!(dimension->high = fm_ft_expression(parser)))
                return false;
        }
    } while (fm_ft_sign(parser, ','));
    *rank = count;
    *dimensions = fm_ft_allocate(parser->context, count, sizeof found[0]);
    if (!*dimensions) return fm_ft_puzzled(parser, "out of memory");
    memcpy(*dimensions, found, count * sizeof found[0]);
    return fm_ft_expect_sign(parser, ')', "')'");
}

/* A name in a declaration, with its shape where it has one here. NULL: puzzled. */
static ft_symbol *declare_symbol(ft_parser *parser, ft_unit *unit)
{
    ft_place place = parser->at->place;
    const char *name = fm_ft_name(parser);
    ft_symbol *symbol = name ? fm_ft_own_symbol(parser->context, unit, name, true) : NULL;
    if (!symbol) return NULL;
    symbol->place = place;
    if (fm_ft_sign(parser, '(') && !array_spec(parser, &symbol->rank, &symbol->dimensions)) return NULL;
    return symbol;
}

/* ---- declarations with a type ---- */

typedef struct attributes {
    ft_symbol flags; /* those that are set are copied */
    unsigned rank;
    ft_dimension *dimensions;
} attributes;

static bool read_attribute(ft_parser *parser, attributes *all)
{
    static const char *const nothing[] = {"public",    "private", "volatile",   "asynchronous",
                                          "protected", "save",    "contiguous", "intrinsic"};
    if (fm_ft_word(parser, "dimension"))
        return fm_ft_expect_sign(parser, '(', "'('") && array_spec(parser, &all->rank, &all->dimensions);
    if (fm_ft_word(parser, "intent")) {
        if (!fm_ft_expect_sign(parser, '(', "'('")) return false;
        bool in = fm_ft_word(parser, "in"), out = fm_ft_word(parser, "out") || fm_ft_word(parser, "inout");
        all->flags.intent_in = in && !out;
        return fm_ft_expect_sign(parser, ')', "')'");
    }
    if (fm_ft_word(parser, "parameter")) return all->flags.constant = true;
    if (fm_ft_word(parser, "allocatable")) return all->flags.allocatable = true;
    if (fm_ft_word(parser, "pointer")) return all->flags.pointer = true;
    if (fm_ft_word(parser, "target")) return all->flags.target = true;
    if (fm_ft_word(parser, "external")) return all->flags.external = true;
    if (fm_ft_word(parser, "optional")) return all->flags.optional = true;
    if (fm_ft_word(parser, "value")) return all->flags.by_value = true;
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        if (fm_ft_word(parser, nothing[i])) return true;
    if (fm_ft_word(parser, "bind")) {
        ft_expression *ignored;
        return fm_ft_expect_sign(parser, '(', "'('") && fm_ft_arguments(parser, &ignored);
    }
    return fm_ft_unexpected(parser, "an attribute");
}

static void add_attributes(ft_symbol *symbol, const attributes *all)
{
    const ft_symbol *flags = &all->flags;
    symbol->intent_in |= flags->intent_in;
    symbol->constant |= flags->constant;
    symbol->allocatable |= flags->allocatable;
    symbol->pointer |= flags->pointer;
    symbol->target |= flags->target;
    symbol->external |= flags->external;
    symbol->optional |= flags->optional;
    symbol->by_value |= flags->by_value;
    if (all->rank && !symbol->rank) {
        symbol->rank = all->rank;
        symbol->dimensions = all->dimensions;
    }
}

/* Entities of a declaration, separated by commas; type NULL: it tells no type. */
static bool read_entities(ft_parser *parser, ft_unit *unit, const ft_type *type, const attributes *all)
{
    do {
        ft_symbol *symbol = declare_symbol(parser, unit);
        if (!symbol) return false;
        add_attributes(symbol, all);
        if (type) {
            symbol->type = *type;
            symbol->typed = true;
            if (fm_ft_at_sign(parser, '*') && !parse_type_parameters(parser, &symbol->type)) return false;
        }
        if (fm_ft_sign(parser, '=')) {
            if (!(symbol->value = fm_ft_expression(parser))) {
                /* A list of values: of an array, which is not needed. */
                if (!symbol->rank && !all->rank) return false;
                parser->why = NULL;
                return true;
            }
        } else if (fm_ft_sign(parser, FT_ARROW)) {
            if (!fm_ft_expression(parser)) return false;
        } else if (fm_ft_sign(parser, '/')) { /* integer n /10/: an old way of data */
            return true;
        }
    } while (fm_ft_sign(parser, ','));
    return fm_ft_at_end(parser) || fm_ft_unexpected(parser, "',' or the end of the declaration");
}

static bool typed_declaration(ft_parser *parser, ft_unit *unit, const ft_type *type)
{
    attributes all = {0};
    if (parser->why) return false;
    while (fm_ft_sign(parser, ','))
        if (!read_attribute(parser, &all)) return false;
    fm_ft_sign(parser, FT_COLONS);
    return read_entities(parser, unit, type, &all);
}

/* ---- derived types ---- */

static bool read_members(ft_parser *parser, ft_unit *inside)
{
    ft_type type;
    if (fm_ft_word(parser, "sequence") || fm_ft_word(parser, "private") || fm_ft_word(parser, "public"))
        return true;
    if (fm_ft_type_spec(parser, &type)) return typed_declaration(parser, inside, &type);
    return fm_ft_puzzled(parser, "a component that is not understood");
}

/* `type [, …] [::] name` is at hand; ends with `end type`. */
static bool read_record(ft_parser *parser, ft_unit *unit)
{
    ft_record *made = fm_ft_allocate(parser->context, 1, sizeof *made);
    ft_unit *inside = fm_ft_allocate(parser->context, 1, sizeof *inside); /* only for its symbols */
    if (!made || !inside) return fm_ft_puzzled(parser, "out of memory");
    made->place = parser->at->place;
    made->unit = unit;
    inside->host = unit;
    while (fm_ft_sign(parser, ',')) {
        if (fm_ft_word(parser, "extends")) made->why = "it extends another type";
        while (!fm_ft_at_end(parser) && !fm_ft_at_sign(parser, ',') && !fm_ft_at_sign(parser, FT_COLONS))
            parser->at++;
    }
    fm_ft_sign(parser, FT_COLONS);
    if (!(made->name = fm_ft_name(parser))) return false;
    bool procedures = false;
    for (fm_ft_advance(parser); fm_ft_line(parser); fm_ft_advance(parser)) {
        bool end = fm_ft_word(parser, "endtype") || (fm_ft_word(parser, "end") && fm_ft_word(parser, "type"));
        if (end) break;
        fm_ft_restart(parser);
        if (fm_ft_line(parser)->marker) continue;
        if (fm_ft_word(parser, "contains") && fm_ft_at_end(parser)) procedures = true;
        if (procedures) continue;
        fm_ft_restart(parser);
        if (!read_members(parser, inside) && !made->why) made->why = parser->why;
    }
    parser->why = NULL;
    made->members = inside->symbols;
    made->next = unit->records;
    unit->records = made;
    return true;
}

/* ---- other statements that tell ---- */

static bool parameter_statement(ft_parser *parser, ft_unit *unit)
{
    if (!fm_ft_expect_sign(parser, '(', "'('")) return false;
    do {
        const char *name = fm_ft_name(parser);
        if (!name || !fm_ft_expect_sign(parser, '=', "'='")) return false;
        ft_symbol *symbol = fm_ft_own_symbol(parser->context, unit, name, true);
        if (!symbol || !(symbol->value = fm_ft_expression(parser))) return false;
        symbol->constant = true;
    } while (fm_ft_sign(parser, ','));
    return fm_ft_expect_sign(parser, ')', "')'");
}

static bool common_statement(ft_parser *parser, ft_unit *unit)
{
    const char *block = "";
    unsigned index = 0;
    for (bool first = true;; first = false) {
        if (fm_ft_sign(parser, FT_CONCATENATE)) {
            block = "";
            index = 0;
        } else if (fm_ft_sign(parser, '/')) {
            if (!(block = fm_ft_name(parser)) || !fm_ft_expect_sign(parser, '/', "'/'")) return false;
            index = 0;
        } else if (!first && !fm_ft_sign(parser, ',')) {
            break;
        }
        if (fm_ft_at_sign(parser, '/') || fm_ft_at_sign(parser, FT_CONCATENATE)) continue;
        ft_symbol *symbol = declare_symbol(parser, unit);
        if (!symbol) return false;
        symbol->common = block;
        symbol->common_index = index++;
    }
    return fm_ft_at_end(parser) || fm_ft_unexpected(parser, "',' or '/'");
}

static bool equivalence_statement(ft_parser *parser, ft_unit *unit)
{
    for (; !fm_ft_at_end(parser); parser->at++) {
        if (parser->at->kind != FT_NAME) continue;
        ft_symbol *symbol = fm_ft_own_symbol(parser->context, unit, parser->at->text, true);
        if (!symbol) return false;
        symbol->equivalenced = true;
    }
    return true;
}

/* implicit none, implicit real*8 (a-h, o-z), integer (i-n) */
static bool implicit_statement(ft_parser *parser, ft_unit *unit)
{
    if (fm_ft_word(parser, "none")) return unit->implicit_none = true;
    do {
        ft_type type;
        ft_token *start = parser->at;
        /* The letters stand in parentheses, as a kind does: the last pair are the letters. */
        unsigned pairs = 0;
        int depth = 0;
        for (const ft_token *end = start; end->kind != FT_END; end++) {
            if (end->kind != FT_SIGN) continue;
            if (end->sign == '(') pairs += depth++ == 0;
            if (end->sign == ')') depth--;
            if (end->sign == ',' && depth == 0) break;
        }
        ft_token saved = {0}, *open = NULL;
        if (pairs == 1 && start->kind == FT_NAME) {
            /* Hidden, so that the type does not take them for its kind. */
            for (open = start; open->kind != FT_SIGN || open->sign != '('; open++) {
            }
            saved = *open;
            open->sign = 0;
        }
        bool known = fm_ft_type_spec(parser, &type);
        if (open) *open = saved;
        if (!known || parser->why) return fm_ft_unexpected(parser, "a type");
        if (!fm_ft_expect_sign(parser, '(', "'('")) return false;
        do {
            const char *from = fm_ft_name(parser), *to = from;
            if (!from) return false;
            if (fm_ft_sign(parser, '-') && !(to = fm_ft_name(parser))) return false;
            for (char letter = from[0]; letter <= to[0]; letter++)
                if (letter >= 'a' && letter <= 'z') {
                    unit->implicit[letter - 'a'] = type;
                    unit->implicit_set[letter - 'a'] = true;
                }
        } while (fm_ft_sign(parser, ','));
        if (!fm_ft_expect_sign(parser, ')', "')'")) return false;
    } while (fm_ft_sign(parser, ','));
    return true;
}

static bool use_statement(ft_parser *parser, ft_unit *unit)
{
    ft_use *use = fm_ft_allocate(parser->context, 1, sizeof *use);
    if (!use) return fm_ft_puzzled(parser, "out of memory");
    use->place = parser->at->place;
    if (fm_ft_sign(parser, ',')) fm_ft_name(parser); /* intrinsic */
    fm_ft_sign(parser, FT_COLONS);
    if (!(use->module = fm_ft_name(parser))) return false;
    if (fm_ft_sign(parser, ',')) {
        if (parser->at->kind == FT_NAME && strcmp(parser->at->text, "only") == 0 &&
            parser->at[1].kind == FT_SIGN && parser->at[1].sign == ':') {
            use->only = true;
            parser->at += 2;
        }
        ft_expression **link = &use->names;
        while (!fm_ft_at_end(parser)) {
            ft_expression *name = fm_ft_new_expression(parser, FT_X_NAME);
            if (!name) return false;
            if (!(name->text = fm_ft_name(parser))) return false;
            if (fm_ft_sign(parser, '(')) { /* operator(+), assignment(=) */
                while (!fm_ft_at_end(parser) && !fm_ft_sign(parser, ')')) parser->at++;
            } else if (fm_ft_sign(parser, FT_ARROW)) {
                name->kind = FT_X_KEYWORD;
                name->left = fm_ft_new_expression(parser, FT_X_NAME);
                if (!name->left || !(name->left->text = fm_ft_name(parser))) return false;
            }
            *link = name;
            link = &name->next;
            if (!fm_ft_sign(parser, ',')) break;
        }
    }
    use->next = unit->uses;
    unit->uses = use;
    return true;
}

/* Interfaces and enumerations: up to their end. */
static bool pass_up_to(ft_parser *parser, const char *glued, const char *what)
{
    while (fm_ft_advance(parser), fm_ft_line(parser))
        if (fm_ft_word(parser, glued) || (fm_ft_word(parser, "end") && fm_ft_word(parser, what))) break;
    return true;
}

static bool plain_attribute(ft_parser *parser, ft_unit *unit, const char *word, attributes *all)
{
    if (!fm_ft_word(parser, word)) return false;
    fm_ft_sign(parser, FT_COLONS);
    read_entities(parser, unit, NULL, all);
    return true;
}

static bool other_declaration(ft_parser *parser, ft_unit *unit)
{
    static const char *const passed[] = {"save",       "data",    "format",    "namelist", "private",
                                         "public",     "import",  "intrinsic", "volatile", "asynchronous",
                                         "procedure",  "generic", "optional",  "sequence", "protected",
                                         "contiguous", "bind",    "final"};
    attributes none = {0}, allocatable = {.flags = {.allocatable = true}},
               pointer = {.flags = {.pointer = true}};
    attributes target = {.flags = {.target = true}}, external = {.flags = {.external = true}};
    if (fm_ft_word(parser, "parameter")) return parameter_statement(parser, unit), true;
    if (fm_ft_word(parser, "implicit")) return implicit_statement(parser, unit), true;
    if (fm_ft_word(parser, "use")) return use_statement(parser, unit), true;
    if (fm_ft_word(parser, "common")) return common_statement(parser, unit), true;
    if (fm_ft_word(parser, "equivalence")) return equivalence_statement(parser, unit), true;
    if (fm_ft_word(parser, "intent")) return true;
    if (plain_attribute(parser, unit, "dimension", &none) ||
        plain_attribute(parser, unit, "allocatable", &allocatable) ||
        plain_attribute(parser, unit, "pointer", &pointer) ||
        plain_attribute(parser, unit, "target", &target) ||
        plain_attribute(parser, unit, "external", &external))
        return true;
    if (fm_ft_word(parser, "interface") ||
        (fm_ft_word(parser, "abstract") && fm_ft_word(parser, "interface")))
        return pass_up_to(parser, "endinterface", "interface");
    if (fm_ft_word(parser, "enum")) {
        pass_up_to(parser, "endenum", "enum");
        return fm_ft_puzzled(parser, "an enumeration is not followed"), true;
    }
    if (fm_ft_word(parser, "entry")) return fm_ft_puzzled(parser, "entry is not followed"), true;
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (fm_ft_word(parser, passed[i])) return true;
    return false;
}

bool fm_ft_declaration(ft_parser *parser, ft_unit *unit)
{
    ft_type type;
    ft_place place = parser->at->place;
    bool found = true;
    if (parser->at->kind != FT_NAME) return false;
    bool type_word = strcmp(parser->at->text, "type") == 0 &&
                     !(parser->at[1].kind == FT_SIGN && parser->at[1].sign == '(');
    bool glued =
        fm_ft_line(parser)->fixed && strncmp(parser->at->text, "type", 4) == 0 && parser->at->text[4];
    if ((type_word || glued) && fm_ft_word(parser, "type")) {
        read_record(parser, unit);
    } else if (fm_ft_type_spec(parser, &type)) {
        typed_declaration(parser, unit, &type);
    } else {
        found = other_declaration(parser, unit);
    }
    if (parser->why && found && !unit->why) {
        unit->why = parser->why;
        unit->why_place = place;
    }
    return found;
}

/* ---- `integer`, `real*8`, `character(len=3)`, `type(t)` in declarations ---- */

/* (8), (kind=8), (len=3, kind=1), *8, *(*) */
static bool parse_type_parameters(ft_parser *parser, ft_type *type)
{
    bool character = type->base == FT_CHARACTER_TYPE;
    if (fm_ft_sign(parser, '*')) {
        if (fm_ft_sign(parser, '(')) {
            type->any_length = fm_ft_sign(parser, '*') || fm_ft_sign(parser, ':');
            if (!type->any_length && !(type->length = fm_ft_expression(parser))) return false;
            return fm_ft_expect_sign(parser, ')', "')'");
        }
        if (parser->at->kind != FT_INTEGER) return fm_ft_unexpected(parser, "a number of bytes");
        ft_expression *number = fm_ft_new_expression(parser, FT_X_INTEGER);
        if (!number) return false;
        number->text = parser->at++->text;
        if (character)
            type->length = number;
        else
            type->kind = number;
        type->star = !character;
        return true;
    }
    if (type->twice || !fm_ft_sign(parser, '(')) return true;
    bool first = true;
    do {
        bool is_kind = !character || !first;
        if (parser->at->kind == FT_NAME && parser->at[1].kind == FT_SIGN && parser->at[1].sign == '=') {
            is_kind = strcmp(parser->at->text, "kind") == 0;
            parser->at += 2;
        }
        if (!is_kind && (fm_ft_sign(parser, '*') || fm_ft_sign(parser, ':'))) {
            type->any_length = true;
        } else {
            ft_expression *value = fm_ft_expression(parser);
            if (!value) return false;
            *(is_kind ? &type->kind : &type->length) = value;
        }
        first = false;
    } while (fm_ft_sign(parser, ','));
    return fm_ft_expect_sign(parser, ')', "')'");
}

bool fm_ft_type_spec(ft_parser *parser, ft_type *type)
{
    *type = (ft_type){.base = FT_NO_TYPE};
    ft_token *start = parser->at;
    if (fm_ft_word(parser, "integer")) {
        type->base = FT_INTEGER_TYPE;
    } else if (fm_ft_word(parser, "real")) {
        type->base = FT_REAL_TYPE;
    } else if (fm_ft_word(parser, "doubleprecision") ||
               (fm_ft_word(parser, "double") && fm_ft_word(parser, "precision"))) {
        type->base = FT_REAL_TYPE;
        type->twice = true;
    } else if (fm_ft_word(parser, "doublecomplex") || (parser->at > start && fm_ft_word(parser, "complex"))) {
        type->base = FT_COMPLEX_TYPE;
        type->twice = true;
    } else if (fm_ft_word(parser, "complex")) {
        type->base = FT_COMPLEX_TYPE;
    } else if (fm_ft_word(parser, "logical")) {
        type->base = FT_LOGICAL_TYPE;
    } else if (fm_ft_word(parser, "character")) {
        type->base = FT_CHARACTER_TYPE;
    } else if (parser->at->kind == FT_NAME && parser->at[1].kind == FT_SIGN && parser->at[1].sign == '(' &&
               (strcmp(parser->at->text, "type") == 0 || strcmp(parser->at->text, "class") == 0)) {
        bool class = parser->at->text[0] == 'c';
        parser->at += 2;
        if (fm_ft_sign(parser, '*')) {
            type->base = FT_NO_TYPE;
        } else {
            type->base = class ? FT_NO_TYPE : FT_DERIVED_TYPE;
            if (!(type->derived = fm_ft_name(parser))) return true;
        }
        fm_ft_expect_sign(parser, ')', "')'");
        return true;
    } else {
        parser->at = start;
        return false;
    }
    parse_type_parameters(parser, type);
    return true;
}

/* ---- Program units: programs, subroutines, functions, modules, and what they contain ---- */

enum { MOST_UNITS_INSIDE = 8 };

static bool has_word(ft_parser *parser, const char *word)
{
    return fm_ft_word(parser, word);
}

/* Is `end`, `end subroutine x` at hand? It is not passed. */
static bool at_unit_end(ft_parser *parser)
{
    static const char *const kinds[] = {"program",   "subroutine", "function", "module",
                                        "submodule", "procedure",  "block"};
    ft_token *start = parser->at;
    bool end = false;
    if (!fm_ft_is_assignment(parser) && has_word(parser, "end")) {
        end = fm_ft_at_end(parser);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !end; i++) end = has_word(parser, kinds[i]);
        if (end && parser->at[-1].kind == FT_NAME && strcmp(parser->at[-1].text, "block") == 0)
            end = has_word(parser, "data");
    } else if (parser->at->kind == FT_NAME && strncmp(parser->at->text, "end", 3) == 0 &&
               !fm_ft_is_assignment(parser)) {
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !end; i++)
            end = strcmp(parser->at->text + 3, kinds[i]) == 0;
    }
    parser->at = start;
    return end;
}

static bool parse_dummies(ft_parser *parser, ft_unit *unit)
{
    if (!fm_ft_sign(parser, '(')) return true;
    size_t count = 0;
    for (const ft_token *at = parser->at; at->kind != FT_END; at++) count += at->kind == FT_NAME;
    unit->dummies = fm_ft_allocate(parser->context, count + 1, sizeof *unit->dummies);
    if (!unit->dummies) return false;
    if (fm_ft_sign(parser, ')')) return true;
    do {
        if (fm_ft_sign(parser, '*')) return fm_ft_puzzled(parser, "alternate returns are not followed");
        ft_place place = parser->at->place;
        const char *name = fm_ft_name(parser);
        ft_symbol *symbol = name ? fm_ft_own_symbol(parser->context, unit, name, true) : NULL;
        if (!symbol) return false;
        symbol->dummy = true;
        symbol->place = place;
        symbol->number = unit->dummy_count;
        unit->dummies[unit->dummy_count++] = symbol;
    } while (fm_ft_sign(parser, ','));
    return fm_ft_expect_sign(parser, ')', "')'");
}

/* The statement that opens a unit; false: it is none. It stays at hand. */
static bool parse_header(ft_parser *parser, ft_unit *unit)
{
    static const char *const prefixes[] = {"pure", "elemental", "impure", "recursive", "non_recursive"};
    ft_type type;
    bool typed = false, passed = true;
    if (parser->at->kind != FT_NAME || fm_ft_is_assignment(parser)) return false;
    unit->place = fm_ft_line(parser)->place;
    /* `module procedure` and `module subroutine` are of submodules. */
    while (passed) {
        passed = false;
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && !passed; i++) {
            passed = fm_ft_word(parser, prefixes[i]);
            unit->elemental |= passed && i == 1;
        }
        if (!passed && !typed) passed = typed = fm_ft_type_spec(parser, &type);
        if (parser->why) return false;
    }
    if (fm_ft_word(parser, "subroutine")) {
        unit->kind = FT_SUBROUTINE;
    } else if (fm_ft_word(parser, "function")) {
        unit->kind = FT_FUNCTION;
    } else if (typed) {
        return false;
    } else if (fm_ft_word(parser, "program")) {
        unit->kind = FT_PROGRAM;
    } else if (fm_ft_word(parser, "blockdata") ||
               (fm_ft_word(parser, "block") && fm_ft_word(parser, "data"))) {
        unit->kind = FT_BLOCK_DATA;
        unit->name = "block data";
        return true;
    } else if (fm_ft_word(parser, "module") || fm_ft_word(parser, "submodule")) {
        unit->kind = FT_MODULE;
        if (fm_ft_sign(parser, '(')) {
            while (!fm_ft_at_end(parser) && !fm_ft_sign(parser, ')')) parser->at++;
            unit->why = "a submodule is not followed";
            unit->why_place = unit->place;
        }
    } else {
        return false;
    }
    unit->name = unit->result = fm_ft_name(parser);
    if (!unit->name) return false;
    if (unit->kind != FT_SUBROUTINE && unit->kind != FT_FUNCTION) return fm_ft_at_end(parser);
    parse_dummies(parser, unit);
    if (fm_ft_word(parser, "result") && fm_ft_sign(parser, '(')) unit->result = fm_ft_name(parser);
    if (parser->why && !unit->why) {
        unit->why = parser->why;
        unit->why_place = unit->place;
    }
    if (unit->kind == FT_FUNCTION && unit->result) {
        ft_symbol *result = fm_ft_own_symbol(parser->context, unit, unit->result, true);
        if (!result) return false;
        result->place = unit->place;
        if (typed) {
            result->type = type;
            result->typed = true;
        }
    }
    return true;
}

static bool parse_units(ft_parser *parser, ft_unit *host, ft_unit **first, unsigned depth);

static uint32_t line_of(const ft_parser *parser)
{
    size_t count = parser->source->count;
    if (count == 0) return 1;
    return parser->source->lines[parser->line < count ? parser->line : count - 1].place.line;
}

/* From behind its header to behind its end. */
static bool unit_body(ft_parser *parser, ft_unit *unit, unsigned depth)
{
    ft_context *context = parser->context;
    unit->body = fm_ft_block(parser, unit, 0);
    if (context->status != FM_OK) return false;
    if (fm_ft_line(parser) && !fm_ft_is_assignment(parser) && fm_ft_word(parser, "contains") &&
        fm_ft_at_end(parser)) {
        fm_ft_advance(parser);
        if (!parse_units(parser, unit, &unit->children, depth + 1)) return false;
    }
    fm_ft_restart(parser);
    unit->last_line = line_of(parser);
    if (!fm_ft_line(parser))
        return unit->kind == FT_PROGRAM && !unit->place.line
                   ? true
                   : fm_ft_fail(context, FM_E_FORMAT, &unit->place, "'%.100s' has no end",
                                unit->name ? unit->name : "the program");
    if (!at_unit_end(parser))
        return fm_ft_fail(context, FM_E_FORMAT, &fm_ft_line(parser)->place,
                          "this ends something that was not begun in '%.100s'",
                          unit->name ? unit->name : "the program");
    fm_ft_advance(parser);
    return true;
}

static bool parse_units(ft_parser *parser, ft_unit *host, ft_unit **first, unsigned depth)
{
    ft_context *context = parser->context;
    ft_unit **link = first;
    while (fm_ft_line(parser)) {
        fm_ft_restart(parser);
        if (fm_ft_line(parser)->marker) {
            fm_ft_advance(parser);
            continue;
        }
        if (host && at_unit_end(parser)) return true;
        if (depth == MOST_UNITS_INSIDE)
            return fm_ft_fail(context, FM_E_FORMAT, &fm_ft_line(parser)->place,
                              "more than %d units inside each other", MOST_UNITS_INSIDE);
        if (++parser->units > FT_MOST_UNITS)
            return fm_ft_fail(context, FM_E_LIMIT, &fm_ft_line(parser)->place,
                              "more than %d procedures and modules", FT_MOST_UNITS);
        ft_unit *unit = fm_ft_allocate(context, 1, sizeof *unit);
        if (!unit) return false;
        if (parse_header(parser, unit)) {
            fm_ft_advance(parser);
        } else {
            if (context->status != FM_OK) return false;
            if (host)
                return fm_ft_fail(context, FM_E_FORMAT, &fm_ft_line(parser)->place,
                                  "expected a subroutine or a function, or the end of '%.100s'", host->name);
            *unit = (ft_unit){.kind = FT_PROGRAM, .name = "main", .result = "main"};
            fm_ft_restart(parser);
        }
        unit->host = host;
        size_t before = parser->line;
        *link = unit;
        link = &unit->next;
        if (!unit_body(parser, unit, depth)) return false;
        if (!unit->place.line && before < parser->source->count)
            unit->place = parser->source->lines[before].place;
    }
    return true;
}

ft_unit *fm_ft_parse(ft_context *context, const ft_source *source)
{
    ft_parser parser = {.context = context, .source = source};
    ft_unit *units = NULL;
    fm_ft_restart(&parser);
    if (!parse_units(&parser, NULL, &units, 0)) return NULL;
    if (!units) fm_ft_fail(context, FM_E_FORMAT, NULL, "there is no statement in it");
    return units;
}
